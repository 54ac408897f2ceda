package audit

// Finding is one thing found, as a check adds it to a Collector, and one group
// of identical ones, as a Report lists it. In a report File, Tensor, Offset,
// Expected, Actual, Message and Fix are those of the first example.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"` // zero when added: the default of the code

	File    string `json:"file"` // relative to the checkpoint, "" when it speaks of no file
	FileHex string `json:"file_hex,omitempty"`

	Tensor    string `json:"tensor"`
	TensorHex string `json:"tensor_hex,omitempty"`
	Offset    *int64 `json:"offset"` // in bytes from the start of the file, nil when unknown

	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	Message  string `json:"message"` // a sentence without the names of file and tensor
	Fix      string `json:"fix"`     // what to do, with the command where there is one

	Count    int       `json:"count"` // instances; zero when added stands for one
	Examples []Example `json:"examples"`
	Ignored  *Ignored  `json:"ignored"` // nil when it counts

	// Group says which findings of one code and severity are identical. Left
	// empty, those are whose messages differ in numbers and quoted words alone.
	Group string `json:"-"`
	// Refetch asks for File to be fetched again.
	Refetch bool `json:"-"`
}

// Example is one of the instances of a finding.
type Example struct {
	File      string `json:"file"`
	FileHex   string `json:"file_hex,omitempty"`
	Tensor    string `json:"tensor"`
	TensorHex string `json:"tensor_hex,omitempty"`
	Offset    *int64 `json:"offset"`
	Expected  string `json:"expected"`
	Actual    string `json:"actual"`
	Message   string `json:"message"`
	Fix       string `json:"fix,omitempty"` // where it is not that of the entry
}

// Ignored says why a finding does not count.
type Ignored struct {
	Reason string `json:"reason"`
	Until  string `json:"until"` // the last day on which it is ignored, YYYY-MM-DD
	Entry  int    `json:"entry"` // of the ignore list, from 1
}

// At gives the address of an offset, for Finding.Offset.
func At(offset int64) *int64 { return &offset }

func (f *Finding) example() Example {
	return Example{
		File: f.File, Tensor: f.Tensor, Offset: f.Offset,
		Expected: f.Expected, Actual: f.Actual, Message: f.Message, Fix: f.Fix,
	}
}

// show takes the fields of an entry from its first example.
func (f *Finding) show(e Example) {
	f.File, f.Tensor, f.Offset = e.File, e.Tensor, e.Offset
	f.Expected, f.Actual, f.Message, f.Fix = e.Expected, e.Actual, e.Message, e.Fix
}

// dropRepeatedFixes leaves a fix to the examples whose own differs.
func (f *Finding) dropRepeatedFixes() {
	for i := range f.Examples {
		if f.Examples[i].Fix == f.Fix {
			f.Examples[i].Fix = ""
		}
	}
}

// appendShape appends a message with its numbers and quoted words taken out, so
// that two messages of one template become equal.
func appendShape(dst []byte, message string) []byte {
	for i := 0; i < len(message); {
		switch c := message[i]; {
		case isDigit(c):
			i = skipNumber(message, i)
			dst = append(dst, '#')
		case c == '"' || c == '`':
			i = skipQuoted(message, i)
			dst = append(dst, '"')
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// skipNumber gives the index after the number at i: digits, and commas and
// points between digits.
func skipNumber(s string, i int) int {
	for i < len(s) {
		separated := (s[i] == ',' || s[i] == '.') && i+1 < len(s) && isDigit(s[i+1])
		if !isDigit(s[i]) && !separated {
			break
		}
		i++
	}
	return i
}

// skipQuoted gives the index after the quoted text at i; the quote that never
// closes stands for itself.
func skipQuoted(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			if s[i] == '"' {
				j++
			}
		case s[i]:
			return j + 1
		}
	}
	return i + 1
}
