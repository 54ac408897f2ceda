package ui

import (
	"fmt"
	"regexp"
	"strings"
)

// regexPrefix marks a pattern as a regular expression.
const regexPrefix = "re:"

// Matcher says whether a name is wanted. A nil Matcher wants all.
type Matcher struct {
	any []*regexp.Regexp
}

// NewMatcher makes a Matcher that wants a name where one of the patterns does:
// a glob, which has to match the whole name, or re: and a regular expression,
// which may match anywhere. In a glob * stands for any characters, dots and
// slashes included, ? for one, [a-z] or [!a-z] for one of a set, and a
// back-slash takes the next character as it is. No pattern gives nil.
func NewMatcher(patterns []string) (*Matcher, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	m := new(Matcher)
	for _, p := range patterns {
		expr, isRegex := strings.CutPrefix(p, regexPrefix)
		if !isRegex {
			expr = globExpr(p)
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
		m.any = append(m.any, re)
	}
	return m, nil
}

// Match reports whether the name is wanted.
func (m *Matcher) Match(name []byte) bool {
	if m == nil {
		return true
	}
	for _, re := range m.any {
		if re.Match(name) {
			return true
		}
	}
	return false
}

// globExpr translates a glob into a regular expression.
func globExpr(glob string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '\\':
			if i+1 < len(glob) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end < 1 {
				b.WriteString(`\[`)
				continue
			}
			set := glob[i+1 : i+1+end]
			b.WriteByte('[')
			if set[0] == '!' || set[0] == '^' {
				b.WriteByte('^')
				set = set[1:]
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(set))
			b.WriteByte(']')
			i += end + 1
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	b.WriteString(`\z`)
	return b.String()
}
