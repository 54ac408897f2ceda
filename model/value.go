package model

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one value of a config.
type Value entry

// IsNull reports a JSON null.
func (v Value) IsNull() bool { return v.object == nil && v.raw.Kind() == 'n' }

// IsObject reports a JSON object.
func (v Value) IsObject() bool { return v.object != nil }

// String gives the value as JSON, cut to a length a person can read.
func (v Value) String() string {
	if v.object != nil {
		return "an object"
	}
	const most = 60
	if len(v.raw) > most {
		return strings.ToValidUTF8(string(v.raw[:most]), "") + "…"
	}
	return string(v.raw)
}

// Text gives the content of a JSON string.
func (v Value) Text() (string, bool) {
	if v.object != nil || v.raw.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v.raw)
	return string(text), err == nil
}

// Bool gives a JSON boolean.
func (v Value) Bool() (b, ok bool) {
	kind := v.raw.Kind()
	return kind == 't', v.object == nil && (kind == 't' || kind == 'f')
}

// Int gives a JSON number that is written as an integer and fits 64 bits.
// 3.5, 3.0, 1e3 and "3" are errors: consumers disagree about them.
func (v Value) Int() (int64, error) {
	if v.object != nil || v.raw.Kind() != '0' {
		return 0, fmt.Errorf("must be an integer, is %s", v)
	}
	return parseInt(v.raw)
}

func parseInt(raw []byte) (int64, error) {
	if bytes.ContainsAny(raw, ".eE") {
		return 0, fmt.Errorf("must be written as an integer, is %s", Value{raw: raw})
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("integer %s does not fit 64 bits", Value{raw: raw})
	}
	return n, nil
}

// Ints gives a JSON array of at most most integers.
func (v Value) Ints(most int) ([]int64, error) {
	if v.object != nil || v.raw.Kind() != '[' {
		return nil, fmt.Errorf("must be a list of integers, is %s", v)
	}
	var list []int64
	err := v.each(func(item jsontext.Value) error {
		if len(list) == most {
			return fmt.Errorf("list has more than %d entries", most)
		}
		if item.Kind() != '0' {
			return fmt.Errorf("entry %d must be an integer, is %s", len(list), Value{raw: item})
		}
		n, err := parseInt(item)
		if err != nil {
			return fmt.Errorf("entry %d %w", len(list), err)
		}
		list = append(list, n)
		return nil
	})
	return list, err
}

// Strings gives the strings of a JSON array, leaving out what is none; a
// string alone counts as an array of one.
func (v Value) Strings() []string {
	if s, ok := v.Text(); ok {
		return []string{s}
	}
	var list []string
	if v.object != nil || v.raw.Kind() != '[' {
		return nil
	}
	_ = v.each(func(item jsontext.Value) error {
		if s, ok := (Value{raw: item}).Text(); ok {
			list = append(list, s)
		}
		return nil
	})
	return list
}

// each calls do for every item of an array, which is valid JSON already.
func (v Value) each(do func(jsontext.Value) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(v.raw))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := do(item); err != nil {
			return err
		}
	}
	return nil
}

// equal compares two JSON texts of scalars and arrays by value: 4, 4.0 and
// 40e-1 are one number, "a" and "\u0061" one string.
func equal(a, b jsontext.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case '0':
		return decimal(a) == decimal(b)
	case '"':
		x, _ := Value{raw: a}.Text()
		y, _ := Value{raw: b}.Text()
		return x == y
	case '[':
		return equalArrays(a, b)
	case '{':
		return false // the profile parser refuses objects here
	}
	return true // null, true, false: the kind is the value
}

func equalArrays(a, b jsontext.Value) bool {
	var items []jsontext.Value
	_ = Value{raw: b}.each(func(item jsontext.Value) error {
		items = append(items, item.Clone())
		return nil
	})
	at, same := 0, true
	_ = Value{raw: a}.each(func(item jsontext.Value) error {
		same = same && at < len(items) && equal(item, items[at])
		at++
		return nil
	})
	return same && at == len(items)
}

// decimal brings a JSON number to one form: sign, digits without zeros at
// either end, exponent of the last digit. An exponent too long to add to is
// kept as it is written; such numbers equal only themselves.
func decimal(raw []byte) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(raw)), "e")
	e, err := strconv.ParseInt(strings.TrimPrefix(exponent, "+"), 10, 32)
	if err != nil && exponent != "" {
		return string(raw)
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	e -= int64(len(fraction))
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	e += int64(len(digits) - len(short))
	return sign + short + "e" + strconv.FormatInt(e, 10)
}
