package quant

import (
	"bytes"
	"sync"
	"testing"

	"ckpt/dtype"
)

// One encoder and one decoder serve many goroutines.
func TestEncodersAreShared(t *testing.T) {
	s := DefaultScheme(MXFP4)
	e, err := NewEncoder(s, MXFP4, dtype.BF16, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(MXFP4, dtype.BF16, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const blocks, pieces = 512, 8
	src := gaussian(blocks)
	codes, scales, back := make([]byte, blocks*16), make([]byte, blocks), make([]byte, len(src))
	if _, err := e.Encode(codes, scales, src, blocks, 32); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(back, codes, scales, blocks, 32); err != nil {
		t.Fatal(err)
	}
	codes2, scales2, back2 := make([]byte, blocks*16), make([]byte, blocks), make([]byte, len(src))
	reports := make([]Report, pieces)
	var wg sync.WaitGroup
	for p := range pieces {
		wg.Go(func() {
			n := blocks / pieces
			c, sc := codes2[p*n*16:(p+1)*n*16], scales2[p*n:(p+1)*n]
			var err error
			if reports[p], err = e.Encode(c, sc, src[p*n*64:(p+1)*n*64], n, 32); err != nil {
				t.Error(err)
			}
			if err := d.Decode(back2[p*n*64:(p+1)*n*64], c, sc, n, 32); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !bytes.Equal(codes, codes2) || !bytes.Equal(scales, scales2) || !bytes.Equal(back, back2) {
		t.Error("pieces differ from the whole")
	}
	var all Report
	for p, r := range reports {
		all.Add(r, int64(p*blocks/pieces))
	}
	if all.Blocks != blocks {
		t.Errorf("%+v", all)
	}
}

func TestDefaultSchemes(t *testing.T) {
	for _, f := range Formats() {
		if _, ok := DefaultScheme(f).Recipe(f); !ok {
			t.Errorf("the default scheme of %s does not write it", f)
		}
	}
	for f, want := range map[Format]string{MXFP4: "even", MXFP8E4M3: "rceil", MXFP8E5M2: "rceil", MXFP6E2M3: "rceil", MXFP6E3M2: "rceil", MXINT8: "rceil"} {
		s := DefaultScheme(f)
		if s.Name != want {
			t.Errorf("%s: %s, want %s", f, s.Name, want)
		}
		r, ok := s.Recipe(f)
		if !ok || r.Signs != SignsDropped || r.Tie != TieEven {
			t.Errorf("%s: %+v", f, r)
		}
	}
}
