package ui

import (
	"bufio"
	"io"
	"strings"
)

// Columns aligns lines whose widths are known before the first is written, so
// that half a million lines can pass without being kept: [Columns.Fit] every
// line, then [Columns.Append] every line.
type Columns struct {
	// Right says, by a rune a column, where cells stand: 'l' or 'r'. Columns
	// behind its end stand left.
	Right  string
	Indent int
	width  []int
}

// columnGap is the space between two columns.
const columnGap = 2

// Fit makes room for a line.
func (c *Columns) Fit(cells ...string) {
	for i, s := range cells {
		if i == len(c.width) {
			c.width = append(c.width, 0)
		}
		c.width[i] = max(c.width[i], Width(s))
	}
}

// Append adds one aligned line with its line feed to dst. No line ends with
// spaces.
func (c *Columns) Append(dst []byte, cells ...string) []byte {
	start := len(dst)
	dst = pad(dst, c.Indent)
	for i, s := range cells {
		if i > 0 {
			dst = pad(dst, columnGap)
		}
		room := 0
		if i < len(c.width) {
			room = max(0, c.width[i]-Width(s))
		}
		if i < len(c.Right) && c.Right[i] == 'r' {
			dst = pad(dst, room)
			dst = append(dst, s...)
			continue
		}
		dst = append(dst, s...)
		dst = pad(dst, room)
	}
	end := len(dst)
	for end > start && dst[end-1] == ' ' {
		end--
	}
	return append(dst[:end], '\n')
}

func pad(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// Table keeps its lines and writes them aligned.
type Table struct {
	Columns
	rows [][]string
}

// Row adds a line.
func (t *Table) Row(cells ...string) {
	t.Fit(cells...)
	t.rows = append(t.rows, cells)
}

// Len is the number of lines.
func (t *Table) Len() int { return len(t.rows) }

// Write writes all lines.
func (t *Table) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	var line []byte
	for _, r := range t.rows {
		line = t.Append(line[:0], r...)
		b.Write(line) // the error stays in b
	}
	return b.Flush()
}

// Wrap breaks text at spaces into lines of at most width columns; a word that
// is longer stands alone.
func Wrap(text string, width int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		w := Width(word)
		if used > 0 && used+1+w > width {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += w
	}
	if used > 0 {
		lines = append(lines, line.String())
	}
	return lines
}
