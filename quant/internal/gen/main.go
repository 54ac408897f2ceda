// Command gen writes the assembly of package kernel and the Go declarations that
// go with it. Run it with `go generate ckpt/quant/internal/kernel`.
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("!noasm")
	encodeE2M1("encodeE2M1AVX2", false)
	encodeE2M1("encodeE2M1ZerosAVX2", true)
	encode8("encodeE4M3AVX2", e4m3, false)
	encode8("encodeE4M3ZerosAVX2", e4m3, true)
	encode8("encodeE5M2AVX2", e5m2, false)
	encode8("encodeE5M2ZerosAVX2", e5m2, true)
	decodeE2M1()
	decode8("decodeE4M3AVX2", e4m3)
	decode8("decodeE5M2AVX2", e5m2)
	narrow("narrowF32AVX2", false)
	narrow("narrowF16AVX2", true)
	widen()
	split()
	join()
	errorSums()
	beyond()
	Generate()
}
