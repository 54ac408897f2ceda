package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"

	"ckpt/dtype"
)

// kind is what the numbers of a tensor look like.
type kind uint8

const (
	weight    kind = iota // gaussian around 0
	norm                  // gaussian around 1
	decayLog              // A_log: uniform, then zeros behind the heads
	decay                 // ssm_a, which is -exp(A_log)
	timeBias              // dt_bias: the inverse softplus of steps of 0.001 to 0.1
	routeBias             // small corrections around 0
	conv                  // wider gaussian
	codes                 // packed E2M1
	scales                // E8M0
)

// kinds are found by the end of a tensor's name; the first that fits counts.
var kinds = []struct {
	suffix string
	kind   kind
}{
	{".weight_packed", codes}, {"_exps.weight", codes},
	{".weight_scale", scales},
	{".A_log", decayLog}, {".ssm_a", decay},
	{".dt_bias", timeBias}, {".ssm_dt.bias", timeBias},
	{".e_score_correction_bias", routeBias}, {".exp_probs_b.bias", routeBias},
	{"_conv1d.weight", conv},
	{"norm.weight", norm}, {".norm0.weight", norm}, {".norm1.weight", norm},
}

func kindOf(name string) kind {
	for _, k := range kinds {
		if strings.HasSuffix(name, k.suffix) {
			return k.kind
		}
	}
	return weight
}

// contents makes the bytes of a tensor. They depend on its name, its family
// and the seed alone, not on what was made before.
func contents(t tensor, seed uint64) []byte {
	name := t.name()
	key := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), name...))
	src := rand.NewChaCha8(key)
	out := make([]byte, t.family.bytes)
	switch k := kindOf(name); k {
	case codes:
		fillCodes(out, src)
	case scales:
		fillScales(out, src)
	default:
		fillNumbers(out, t.family, k, src)
	}
	return out
}

// fillNumbers writes BF16 or F32 numbers.
func fillNumbers(out []byte, f *family, k kind, src *rand.ChaCha8) {
	live := uint64(math.MaxUint64)
	if k == decayLog {
		live = f.live
	}
	width := 2
	if f.dtype == dtype.F32 {
		width = 4
	}
	for i := 0; i*width < len(out); i++ {
		v := float32(0)
		if uint64(i) < live {
			v = k.draw(src)
		}
		if width == 4 {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
		} else {
			binary.LittleEndian.PutUint16(out[2*i:], bfloat16(v))
		}
	}
}

// draw makes one number. The scales are those of trained models: weights
// σ = 0.02 (the config's initializer_range), norms near 1, decay rates
// exp(A_log) from 1 to 16, as initialised.
func (k kind) draw(src *rand.ChaCha8) float32 {
	switch k {
	case norm:
		return gaussian(src, 1, 0.05)
	case decayLog:
		return uniform(src, 0, 2.75) // 2.77 is ln 16
	case decay:
		return uniform(src, -16, -1)
	case timeBias:
		return uniform(src, -6.9, -2.25)
	case routeBias:
		return gaussian(src, 0, 0.1)
	case conv:
		return gaussian(src, 0, 0.3)
	default:
		return gaussian(src, 0, 0.02)
	}
}

// gaussian sums eight uniform 16-bit numbers, which is normal to within a few
// thousandths and ends at 4.9 σ. Unlike the usual methods it has one rounding
// product and no branch on floating-point numbers, so processors that fuse
// operations make the same bytes.
func gaussian(src *rand.ChaCha8, mean, sigma float64) float32 {
	const odd = 0x0000ffff0000ffff
	a, b := src.Uint64(), src.Uint64()
	pairs := (a & odd) + (a >> 16 & odd) + (b & odd) + (b >> 16 & odd) // two sums of four
	sum := int64(pairs&0xffffffff) + int64(pairs>>32)
	const centre = 8 * 65535 // of twice the sum
	const spread = 107020.7  // its σ: 2·65536·√(8/12)
	z := float64(2*sum-centre) / spread
	return float32(mean + float64(z*sigma)) // the conversion forbids fusing
}

func uniform(src *rand.ChaCha8, low, high float64) float32 {
	u := float64(src.Uint64()>>11) / (1 << 53)
	return float32(low + float64(u*(high-low)))
}

// bfloat16 rounds to nearest, ties to even. v is finite.
func bfloat16(v float32) uint16 {
	b := math.Float32bits(v)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// codeLevels are the E2M1 codes of 16 equally likely magnitudes, as blocks of
// normal numbers scaled to a maximum of 4 to 6 have them: 0, 0.5, 1, 1.5, 2, 3,
// 4 and 6 are codes 0 to 7.
const codeLevels = 0x7654_4433_2221_1100

// fillCodes writes two codes a byte, the low nibble first.
func fillCodes(out []byte, src *rand.ChaCha8) {
	for i := range out {
		r := src.Uint64()
		out[i] = code(r) | code(r>>5)<<4
	}
}

// code makes a code of five random bits: sign and level.
func code(r uint64) byte {
	level := codeLevels >> (4 * (r & 15)) & 15
	return byte(r>>4&1)<<3 | byte(level)
}

// scaleFloor is the least E8M0 scale that is made: 2^-17.
const scaleFloor = 110

// fillScales writes E8M0 exponents from 110 to 123, most near the middle.
func fillScales(out []byte, src *rand.ChaCha8) {
	const spread = 1<<13 - 1 // thirteen bits: as many steps
	for i := range out {
		out[i] = scaleFloor + byte(bits.OnesCount64(src.Uint64()&spread))
	}
}
