package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ckpt/internal/names"
)

// slotNames are the placeholders of a pattern that stand for numbers: layer,
// expert, block.
var slotNames = []string{"i", "e", "b"}

// slot says what the number at one place of a name is.
type slot uint8

const (
	constant slot = iota // written out in the pattern
	layerSlot
	expertSlot
	blockSlot
)

// template is a pattern without prefixes, in the terms of package names: its
// text, and what each number of a name stands for.
type template struct {
	pattern string
	text    string // with names.Mark for every number
	slots   int
	role    [names.Slots]slot
	want    [names.Slots]uint32 // of constants
}

// parseTemplate reads a resolved pattern such as
// "model.layers.{i}.mlp.experts.{e}.w1.weight". A placeholder is a whole
// segment, occurs once, and is among the first names.Slots numbers.
func parseTemplate(pattern string) (template, error) {
	t := template{pattern: pattern}
	segments := strings.Split(pattern, ".")
	roles := make([]slot, len(segments))
	for i, segment := range segments {
		if !strings.ContainsAny(segment, "{}") {
			continue
		}
		at := slices.Index(slotNames, strings.Trim(segment, "{}"))
		if at < 0 || segment != "{"+slotNames[at]+"}" {
			return t, fmt.Errorf("%.60q is no placeholder that fills a segment", segment)
		}
		roles[i] = layerSlot + slot(at)
		if slices.Contains(roles[:i], roles[i]) {
			return t, fmt.Errorf("placeholder %s occurs twice", segment)
		}
		segments[i] = "0"
	}
	text, n, slots := names.Split(nil, []byte(strings.Join(segments, ".")))
	t.text, t.want, t.slots = string(text), n, slots
	return t, t.place(segments, roles)
}

// place finds which number of the name each placeholder is.
func (t *template) place(segments []string, roles []slot) error {
	next := 0
	for i, segment := range segments {
		if n, err := strconv.ParseUint(segment, 10, 32); err != nil || strconv.FormatUint(n, 10) != segment {
			continue
		}
		if next < t.slots {
			t.role[next] = roles[i]
			next++
		} else if roles[i] != constant {
			return fmt.Errorf("a placeholder stands after the first %d numbers", names.Slots)
		}
	}
	return nil
}

// covers checks that the pattern has the placeholders that it has ranges for.
func (t *template) covers(want map[string]bool) error {
	for i, name := range slotNames {
		has := slices.Contains(t.role[:t.slots], layerSlot+slot(i))
		if has && !want[name] {
			return fmt.Errorf("nothing says what {%s} runs over", name)
		}
		if !has && want[name] {
			return fmt.Errorf("{%s} is not in the pattern", name)
		}
	}
	return nil
}

// resolve puts prefixes into a pattern.
func (p *Profile) resolve(pattern string, values map[string]string) (string, error) {
	if pattern == "" || len(pattern) > 1024 {
		return "", errors.New("a pattern has 1 to 1024 bytes")
	}
	if strings.ContainsRune(pattern, 0xFFFD) || strings.IndexByte(pattern, names.Mark) >= 0 {
		return "", errors.New("a pattern is UTF-8")
	}
	var out strings.Builder
	rest := pattern
	for {
		before, after, found := strings.Cut(rest, "{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, tail, closed := strings.Cut(after, "}")
		value, known := values[name]
		switch {
		case !closed:
			return "", fmt.Errorf("a brace is open in %.100q", pattern)
		case known:
			out.WriteString(value)
		case slices.Contains(slotNames, name):
			out.WriteString("{" + name + "}")
		default:
			return "", fmt.Errorf("nothing defines {%.40s}", name)
		}
		rest = tail
	}
}
