package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// constants are shared by the functions.
var constants = map[string]Mem{}

// constant is 32 bytes made of repetitions of v.
func constant(name string, v ...Constant) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for at, i := 0, 0; at < 32; i++ {
		c := v[i%len(v)]
		DATA(at, c)
		at += c.Bytes()
	}
	constants[name] = m
	return m
}

// bytesOf gives byte constants.
func bytesOf(v ...int) (c []Constant) {
	for _, b := range v {
		c = append(c, U8(b))
	}
	return c
}

// wordsOf gives 16-bit constants.
func wordsOf(v ...int) (c []Constant) {
	for _, w := range v {
		c = append(c, U16(uint16(w)))
	}
	return c
}

func repeated(w int) Mem { return constant("words"+hex(w), U16(uint16(w))) }

func repeatedByte(b int) Mem { return constant("bytes"+hex(b), U8(uint8(b))) }

func hex(v int) string {
	const digits = "0123456789abcdef"
	s := ""
	for shift := 12; shift >= 0; shift -= 4 {
		s += string(digits[v>>shift&15])
	}
	return s
}
