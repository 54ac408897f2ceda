package quant

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the vectors
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
)

// packedVectors are the conformance vectors: blocks that tell systems apart and
// the bytes each system gives. Most rows come from running the real package.
//
//go:embed testdata/vectors.json.gz
var packedVectors []byte

// vectors is the file, as far as it is read.
type vectors struct {
	MXFP4     []vector            `json:"mxfp4"`
	MXFP8E4M3 []vector            `json:"mxfp8_e4m3"`
	MXFP6     []vector6           `json:"mxfp6"`
	NVFP4     []vectorNV          `json:"nvfp4"`
	E8M0      []map[string]any    `json:"e8m0_from_f32"`
	Layouts   map[string]swizzled `json:"layouts"`
	Transcode map[string]any      `json:"transcode"`
	Meta      struct {
		Confirmed map[string][]string `json:"confirmed"`
	} `json:"meta"`
}

// swizzled is a matrix whose byte i is (i*167 + (i>>8)) & 255, row-major.
type swizzled struct {
	Rows   int    `json:"rows"`
	Cols   int    `json:"cols"`
	First  []int  `json:"first16_offsets_row_major"`
	SHA256 string `json:"sha256_of_shuffled"`
}

// vector is one block.
type vector struct {
	Name    string            `json:"name"`
	Type    string            `json:"dtype"`
	Input   []string          `json:"input_f32_hex"`
	Results map[string]result `json:"results"`
}

// result is what one system gives; without a scale or codes there is nothing to
// compare.
type result struct {
	Scale  *int   `json:"scale"`
	Packed string `json:"packed"`
	Data   string `json:"data"`
}

type vector6 struct {
	Format string   `json:"format"`
	Mode   string   `json:"mode"`
	Input  []string `json:"input_f32_hex"`
	Scale  int      `json:"scale"`
	Codes  string   `json:"torchao_one_code_per_byte"`
	Packed string   `json:"quark_4_codes_in_3_bytes_little_endian"`
}

type vectorNV struct {
	Name              string   `json:"name"`
	Input             []string `json:"input_f32_hex"`
	ModelOpt          tensorNV `json:"modelopt"`
	CompressedTensors packedNV `json:"compressed_tensors_f32_weights"`
	GGML              string   `json:"ggml_block36"`
}

type tensorNV struct {
	Scale  string `json:"weight_scale"`
	Weight string `json:"weight"`
	Tensor string `json:"weight_scale_2_f32"`
}

// packedNV is tensorNV under compressed-tensors' names.
type packedNV struct {
	Scale  string `json:"weight_scale"`
	Weight string `json:"weight_packed"`
	Tensor string `json:"weight_global_scale_f32"`
}

// readVectors unpacks the vectors.
func readVectors() (*vectors, error) {
	z, err := gzip.NewReader(bytes.NewReader(packedVectors))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	return &v, nil
}

// numbers reads float32 bits in hexadecimal.
func numbers(words []string) ([]float32, error) {
	out := make([]float32, len(words))
	for i, w := range words {
		bits, err := strconv.ParseUint(w, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("number %d: %w", i, err)
		}
		out[i] = math.Float32frombits(uint32(bits))
	}
	return out, nil
}

func (r result) codes() ([]byte, error) { return hex.DecodeString(r.Packed + r.Data) }
