package shard

import (
	"maps"
	"slices"
	"strings"

	"ckpt/dtype"
)

// CacheType is the type in which keys, values and latents are kept. The zero
// value is BF16.
type CacheType struct{ of dtype.Type }

// cacheTypes are the names that serving tools have for them.
var cacheTypes = map[string]dtype.Type{
	"auto": dtype.BF16, "bf16": dtype.BF16, "bfloat16": dtype.BF16,
	"f16": dtype.F16, "fp16": dtype.F16, "float16": dtype.F16, "half": dtype.F16,
	"f32": dtype.F32, "fp32": dtype.F32, "float32": dtype.F32, "float": dtype.F32,
	"fp8": dtype.F8_E4M3, "fp8_e4m3": dtype.F8_E4M3, "f8_e4m3": dtype.F8_E4M3, "e4m3": dtype.F8_E4M3,
	"fp8_e4m3fn": dtype.F8_E4M3, "float8_e4m3fn": dtype.F8_E4M3,
	"fp8_e5m2": dtype.F8_E5M2, "f8_e5m2": dtype.F8_E5M2, "e5m2": dtype.F8_E5M2, "float8_e5m2": dtype.F8_E5M2,
	"int8": dtype.I8, "i8": dtype.I8,
	"q8_0": dtype.Q8_0, "q5_1": dtype.Q5_1, "q5_0": dtype.Q5_0, "q4_1": dtype.Q4_1, "q4_0": dtype.Q4_0, "iq4_nl": dtype.IQ4_NL,
}

// CacheTypes lists the names that ParseCacheType knows, sorted.
func CacheTypes() []string { return slices.Sorted(maps.Keys(cacheTypes)) }

// ParseCacheType reads a name of any case.
func ParseCacheType(name string) (CacheType, bool) {
	t, ok := cacheTypes[strings.ReplaceAll(strings.ToLower(name), "-", "_")]
	return CacheType{t}, ok
}

// DType is the type of the numbers.
func (c CacheType) DType() dtype.Type {
	if c.of == dtype.Invalid {
		return dtype.BF16
	}
	return c.of
}

// String is our name of it: "bf16", "fp8_e4m3", "q8_0".
func (c CacheType) String() string {
	name := strings.ToLower(c.DType().String())
	if strings.HasPrefix(name, "f8_") {
		return "fp" + name[1:]
	}
	return name
}
