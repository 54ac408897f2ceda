package quant

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"ckpt/dtype"
)

// golden reads the bytes that real packages gave for 512 blocks.
func golden(t *testing.T) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader("testdata/golden.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// goldenFiles says which scheme gives which file.
var goldenFiles = []struct {
	file, scheme string
	format       Format
}{
	{"mxfp4_torchao_floor_main_36027d8.bin", "torchao-floor", MXFP4},
	{"mxfp4_torchao_floor_main_36027d8.bin", "ocp", MXFP4},
	{"mxfp4_torchao_even_main_36027d8.bin", "torchao-even", MXFP4},
	{"mxfp4_torchao_rceil_main_36027d8.bin", "torchao-rceil", MXFP4},
	{"mxfp4_torchao_rceil_main_36027d8.bin", "nvidia", MXFP4},
	{"mxfp4_torchao_ceil_main_36027d8.bin", "torchao-ceil", MXFP4},
	{"mxfp4_torchao_floor_0_18_0.bin", "torchao-floor-0.18", MXFP4},
	{"mxfp4_torchao_even_0_18_0.bin", "torchao-even-0.18", MXFP4},
	{"mxfp4_torchao_rceil_0_18_0.bin", "torchao-rceil-0.18", MXFP4},
	{"mxfp4_torchao_ceil_0_18_0.bin", "torchao-ceil-0.18", MXFP4},
	{"mxfp4_compressed_tensors_cpu_0_20_1.bin", "compressed-tensors", MXFP4},
	{"mxfp4_quark_even_0_13.bin", "quark", MXFP4},
	{"mxfp4_quark_floor_0_13.bin", "quark-floor", MXFP4},
	{"mxfp4_quark_ceil_0_13.bin", "quark-ceil", MXFP4},
	{"mxfp4_modelopt_mxfp4_0_47_0.bin", "modelopt", MXFP4},
	{"mxfp4_mlx_cpu_0_32_4.bin", "mlx", MXFP4},
	{"mxfp4_mlx_cpu_0_32_1.bin", "mlx-0.32.1", MXFP4},
	{"mxfp4_ggml_mxfp4_c.bin", "ggml", MXFP4},
	{"mxfp4_ggml_mxfp4_py_0_19_0.bin", "gguf", MXFP4},

	{"mxfp8_torchao_floor_main_36027d8.bin", "torchao-floor", MXFP8E4M3},
	{"mxfp8_torchao_even_main_36027d8.bin", "torchao-even", MXFP8E4M3},
	{"mxfp8_torchao_rceil_main_36027d8.bin", "torchao-rceil", MXFP8E4M3},
	{"mxfp8_torchao_rceil_main_36027d8.bin", "nvidia", MXFP8E4M3},
	{"mxfp8_torchao_ceil_main_36027d8.bin", "torchao-ceil", MXFP8E4M3},
	{"mxfp8_torchao_floor_0_18_0.bin", "torchao-floor-0.18", MXFP8E4M3},
	{"mxfp8_torchao_even_0_18_0.bin", "torchao-even-0.18", MXFP8E4M3},
	{"mxfp8_torchao_rceil_0_18_0.bin", "torchao-rceil-0.18", MXFP8E4M3},
	{"mxfp8_torchao_ceil_0_18_0.bin", "torchao-ceil-0.18", MXFP8E4M3},
	{"mxfp8_compressed_tensors_mxfp8_cpu_0_20_1.bin", "compressed-tensors", MXFP8E4M3},
	{"mxfp8_compressed_tensors_mxfp8_cpu_no_zero_point_0_20_1.bin", "compressed-tensors-bare", MXFP8E4M3},
	{"mxfp8_modelopt_mxfp8_0_47_0.bin", "modelopt", MXFP8E4M3},
	{"mxfp8_mlx_cpu_0_32_4.bin", "mlx", MXFP8E4M3},
	{"mxfp8_mlx_cpu_0_32_1.bin", "mlx-0.32.1", MXFP8E4M3},
}

// Every file byte for byte, the blocks that come from undefined conversions
// too: they are what x86-64 gives, and so do we.
func TestGolden(t *testing.T) {
	files := golden(t)
	var undefined map[string][]int
	if err := json.Unmarshal(files["undefined.json"], &undefined); err != nil {
		t.Fatal(err)
	}
	input := files["input_bf16.bin"]
	for _, g := range goldenFiles {
		t.Run(g.scheme+"/"+g.file, func(t *testing.T) {
			s, ok := SchemeNamed(g.scheme)
			if !ok {
				t.Fatal("no such scheme")
			}
			e, err := NewEncoder(s, g.format, dtype.BF16, EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			reference := *e
			reference.fast = nil
			size := g.format.CodeBytes(32)
			codes, scales := make([]byte, 512*size), make([]byte, 512)
			slow, slowScales := make([]byte, 512*size), make([]byte, 512)
			if _, err := reference.Encode(slow, slowScales, input, 512, 32); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Encode(codes, scales, input, 512, 32); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(slow, codes) || !bytes.Equal(slowScales, scales) {
				t.Error("the kernel and the reference differ")
			}
			want, wrong := files[g.file], 0
			for i := range 512 {
				record := want[i*(size+1) : (i+1)*(size+1)]
				if scales[i] == record[0] && bytes.Equal(codes[i*size:(i+1)*size], record[1:]) {
					continue
				}
				if wrong++; wrong < 4 {
					t.Errorf("block %d of kind %d (undefined: %v): %d %x, want %d %x\nof %x", i, i%16, slices.Contains(undefined[g.file], i),
						scales[i], codes[i*size:(i+1)*size], record[0], record[1:], input[i*64:(i+1)*64])
				}
			}
			if wrong > 0 {
				t.Errorf("%d blocks differ", wrong)
			}
		})
	}
}
