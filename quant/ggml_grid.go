package quant

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// ggmlGridText holds the codebooks of the IQ types as the digits of their
// entries. interop/quant/grids.py writes it from the official package, and the
// interop suite compares.
//
//go:embed ggml_grid.txt
var ggmlGridText string

// A grid is a codebook: entries of the same length, one after the other.
type grid struct {
	length int
	values []int8
}

// entry is entry i of the codebook.
func (g *grid) entry(i int) []int8 { return g.values[i*g.length : (i+1)*g.length] }

// The codebooks, read when they are first needed.
var (
	gridIQ1S   = gridNamed("IQ1_S")
	gridIQ2XXS = gridNamed("IQ2_XXS")
	gridIQ2XS  = gridNamed("IQ2_XS")
	gridIQ2S   = gridNamed("IQ2_S")
	gridIQ3XXS = gridNamed("IQ3_XXS")
	gridIQ3S   = gridNamed("IQ3_S")
)

func gridNamed(name string) func() *grid {
	return sync.OnceValue(func() *grid { return parseGrid(ggmlGridText, name) })
}

// parseGrid reads one codebook. Its first line is the name, the number of
// entries, their length and the values of the digits 0, 1, 2…; the entries
// follow as digits, many a line.
func parseGrid(text, name string) *grid {
	_, text, found := strings.Cut(text, "\n"+name+" ")
	head, text, _ := strings.Cut(text, "\n")
	fields := strings.Fields(head)
	if !found || len(fields) < 3 {
		panic("quant: no codebook " + name)
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic("quant: codebook " + name + ": " + err.Error())
		}
		return n
	}
	entries, length, values := number(fields[0]), number(fields[1]), fields[2:]
	g := &grid{length: length, values: make([]int8, 0, entries*length)}
	for i := 0; len(g.values) < entries*length; i++ {
		if c := text[i]; c != '\n' {
			g.values = append(g.values, int8(number(values[c-'0'])))
		}
	}
	return g
}
