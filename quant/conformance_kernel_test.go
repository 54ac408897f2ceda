package quant

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"ckpt/dtype"
	"ckpt/quant/internal/kernel"
)

// encodeOnce encodes one row by the reference.
func encodeOnce(s *Scheme, f Format, source dtype.Type, x []float32, opts EncodeOptions) (codes, scales []byte, err error) {
	e, err := NewEncoder(s, f, source, opts)
	if err != nil {
		return nil, nil, err
	}
	e.use(nil)
	codes, scales = make([]byte, f.CodeBytes(len(x))), make([]byte, f.ScaleBytes(len(x)))
	_, err = e.Encode(codes, scales, bytesOf(source, x), 1, len(x))
	return codes, scales, err
}

type (
	rule    = kernel.Rule
	counts  = kernel.Counts
	encodes = func(codes, scales, src []byte, r *rule) counts
)

// tail is what a run of blocks leaves to the end of a kernel.
func tail(scales []byte) int { return len(scales) / 16 * 16 }

// A kernel that is wrong anywhere makes the conformance fail, and no error.
func TestConformanceFindsBrokenKernels(t *testing.T) {
	for name, spoil := range map[string]func(s *kernel.Set){
		"E5M2 encoder gives zeros": func(s *kernel.Set) {
			run := s.EncodeE5M2
			s.EncodeE5M2 = func(codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
				n := run(codes, scales, src, r)
				clear(codes)
				return n
			}
		},
		"MXFP4 decoder gives the double": func(s *kernel.Set) {
			run := s.DecodeE2M1
			s.DecodeE2M1 = func(dst, codes, scales []byte) int {
				n := run(dst, codes, scales)
				for i := range n * kernel.Block {
					w := fromBF16(binary.LittleEndian.Uint16(dst[2*i:]))
					binary.LittleEndian.PutUint16(dst[2*i:], toBF16(w*2))
				}
				return n
			}
		},
		"blocks 0 and 1 swapped": func(s *kernel.Set) {
			spoilMXFP4(s, func(run encodes, codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
				n := run(codes, scales, src, r)
				if len(scales) > 1 {
					for i := range 16 {
						codes[i], codes[16+i] = codes[16+i], codes[i]
					}
				}
				return n
			})
		},
		"tail dropped": func(s *kernel.Set) {
			spoilMXFP4(s, func(run encodes, codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
				kept := slices.Clone(codes[tail(scales)*16:])
				n := run(codes, scales, src, r)
				copy(codes[tail(scales)*16:], kept)
				return n
			})
		},
		"tail cleared": func(s *kernel.Set) {
			spoilMXFP4(s, func(run encodes, codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
				n := run(codes, scales, src, r)
				clear(codes[tail(scales)*16:])
				return n
			})
		},
		"tail of the decoder cleared": func(s *kernel.Set) {
			run := s.DecodeE4M3
			s.DecodeE4M3 = func(dst, codes, scales []byte) int {
				n := run(dst, codes, scales)
				clear(dst[n/16*16*64 : n*64])
				return n
			}
		},
		"scales one up": func(s *kernel.Set) {
			run := s.EncodeE4M3
			s.EncodeE4M3 = func(codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
				n := run(codes, scales, src, r)
				if scales[0] < 200 {
					scales[0]++
				}
				return n
			}
		},
		"clipped not counted": func(s *kernel.Set) {
			spoilMXFP4(s, func(run encodes, codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
				n := run(codes, scales, src, r)
				n.Clipped = 0
				return n
			})
		},
		"F16 narrowed without its last bit": func(s *kernel.Set) {
			run := s.NarrowF16
			s.NarrowF16 = func(dst, src []byte) {
				run(dst, src)
				for i := 0; i < len(dst); i += 2 {
					dst[i] &^= 1
				}
			}
		},
		"F32 widened by one bit less": func(s *kernel.Set) {
			run := s.WidenBF16
			s.WidenBF16 = func(dst, src []byte) {
				run(dst, src)
				if len(dst) > 0 {
					dst[len(dst)-2] ^= 1 << 6
				}
			}
		},
	} {
		if testing.Short() && !strings.Contains(name, "E5M2") && !strings.Contains(name, "swapped") {
			continue // each takes seven seconds under the race detector
		}
		set := *implementations()[0]
		spoil(&set)
		all, err := checkConformance(&set)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		failed, ofVectors := 0, 0
		for _, c := range all {
			failed += c.Cases - c.Passed
			if c.Scheme != set.Name {
				ofVectors += c.Cases - c.Passed
			}
			if c.Cases-c.Passed != len(c.Failures) {
				t.Errorf("%s: %s %s: %d of %d pass, %d failures", name, c.Scheme, c.Row, c.Passed, c.Cases, len(c.Failures))
			}
		}
		if failed == 0 {
			t.Errorf("%s: every case passes", name)
		}
		if ofVectors == 0 && strings.Contains(name, "decoder") {
			t.Errorf("%s: every vector passes: what they give is not decoded", name)
		}
	}
}

func spoilMXFP4(s *kernel.Set, spoil func(run encodes, codes, scales, src []byte, r *kernel.Rule) kernel.Counts) {
	run := s.EncodeE2M1
	s.EncodeE2M1 = func(codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
		return spoil(run, codes, scales, src, r)
	}
}

// A difference within the vectors' own rows is a failed case of that row.
func TestConformanceNamesTheCase(t *testing.T) {
	set := *implementations()[0]
	spoilMXFP4(&set, func(run encodes, codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
		n := run(codes, scales, src, r)
		for i := range scales {
			if math.Abs(float64(fromBF16(binary.LittleEndian.Uint16(src[64*i:])))) == 6 {
				codes[16*i] ^= 1
			}
		}
		return n
	})
	all, err := checkConformance(&set)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Scheme == "even" || len(c.Failures) == 0 {
			continue
		}
		if c.Format != MXFP4 || !strings.Contains(c.Failures[0], "reference") {
			t.Errorf("%s %s %s: %s", c.Scheme, c.Format, c.Row, c.Failures[0])
		}
		return
	}
	t.Error("no case fails")
}

// Every implementation of this machine conforms.
func TestConformanceOfEachImplementation(t *testing.T) {
	for _, s := range implementations() {
		all, err := checkConformance(s)
		if err != nil {
			t.Fatal(err)
		}
		kernels := map[Format]int{}
		for _, c := range all {
			if c.Scheme == s.Name {
				kernels[c.Format] += c.Cases
			}
			for _, f := range c.Failures {
				t.Errorf("%s: %s %s: %s", s.Name, c.Scheme, c.Format, f)
			}
		}
		for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
			if kernels[f] < 3+2*256 {
				t.Errorf("%s: %d cases hold the kernels of %s", s.Name, kernels[f], f)
			}
		}
	}
}
