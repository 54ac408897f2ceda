// Package cpu says which instructions kernels may use. Has(AVX2) is true where
// the processor and the system offer it, the binary was not built with the tag
// noasm, and the environment variable CKPT_DISABLE does not name it:
//
//	CKPT_DISABLE=avx2,avx512 ckpt convert …
//
// disables both; what needs AVX2 is off with it, so AVX-512 is too. The
// variable is read once. Names that are unknown are kept for Unknown.
package cpu

import (
	"os"
	"slices"
	"strings"
	"sync"
)

// Variable is the environment variable that disables instruction sets.
const Variable = "CKPT_DISABLE"

// Set is a set of instructions.
type Set uint8

// The sets that kernels ask for.
const (
	// AVX2 stands for AVX2, FMA, F16C and POPCNT, which every such processor has.
	AVX2 Set = iota
	// AVX512 stands for AVX512F, BW, DQ and VL.
	AVX512
)

var names = [...]string{AVX2: "avx2", AVX512: "avx512"}

// String is the name of s in the environment variable.
func (s Set) String() string { return names[s] }

var disabled = sync.OnceValue(func() []string { return parse(os.Getenv(Variable)) })

func parse(list string) []string {
	return strings.FieldsFunc(strings.ToLower(list), func(r rune) bool { return r == ',' || r == ' ' })
}

// Has reports whether kernels may use s.
func Has(s Set) bool { return has(s, disabled()) }

func has(s Set, disabled []string) bool {
	if slices.Contains(disabled, s.String()) || s == AVX512 && !has(AVX2, disabled) {
		return false
	}
	return present(s)
}

// Disabled lists the sets that the processor has and the environment disables.
func Disabled() (sets []Set) {
	for s := range Set(len(names)) {
		if present(s) && !Has(s) {
			sets = append(sets, s)
		}
	}
	return sets
}

// Unknown lists what the environment variable names and nobody knows.
func Unknown() (unknown []string) {
	for _, name := range disabled() {
		if !slices.Contains(names[:], name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}
