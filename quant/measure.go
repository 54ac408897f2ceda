package quant

import (
	"math"

	"ckpt/dtype"
	"ckpt/quant/internal/kernel"
)

// Measure says how far what was encoded is from what it was made of. Sums are
// taken in float64 over chunks of 8,192 elements, joined in the order of the
// input: the number of workers and the processor change no bit of them.
type Measure struct {
	Elements  int64
	Blocks    int64
	NonFinite int64 // elements that are NaN or infinite on either side; no sum has them
	Clipped   int64 // elements beyond the largest code under their scale
	// ZeroBlocks counts blocks whose every element is zero.
	ZeroBlocks int64
	// Scales counts blocks by scale byte.
	Scales [256]int64

	// Sums over x, the original, y, the decoded, and e = x - y.
	XX, YY, XY, EE, AbsE float64
	MaxE                 float64 // the largest |e|
}

// SQNR is 10·log10(Σx² / Σe²) in decibels: +Inf where nothing was lost, as in a
// tensor without elements. Where the sums hold nothing because every element
// that is not zero was NaN or infinite on a side, it is NaN, not perfection.
// JSON has neither NaN nor infinity: documents write null for both.
func (m *Measure) SQNR() float64 {
	if m.destroyed() {
		return math.NaN()
	}
	if m.EE == 0 {
		return math.Inf(1)
	}
	return 10 * math.Log10(m.XX/m.EE)
}

// destroyed says whether no sum has an element that says anything.
func (m *Measure) destroyed() bool {
	return m.NonFinite > 0 && m.XX == 0 && m.YY == 0
}

// Cosine is Σxy / √(Σx² Σy²): 1 where both sides are zero, or empty, 0 where one
// is; NaN where SQNR is.
func (m *Measure) Cosine() float64 {
	if m.destroyed() {
		return math.NaN()
	}
	if m.XX == 0 && m.YY == 0 {
		return 1
	}
	if m.XX == 0 || m.YY == 0 {
		return 0
	}
	return m.XY / (math.Sqrt(m.XX) * math.Sqrt(m.YY))
}

// MeanError is the mean of |e| over the elements in the sums: 0 in a tensor
// without elements, NaN where all are NaN or infinite.
func (m *Measure) MeanError() float64 {
	if m.NonFinite > 0 && m.NonFinite == m.Elements {
		return math.NaN()
	}
	if n := m.Elements - m.NonFinite; n > 0 {
		return m.AbsE / float64(n)
	}
	return 0
}

// ClippedShare is the part of the elements that were clipped.
func (m *Measure) ClippedShare() float64 {
	if m.Elements == 0 {
		return 0
	}
	return float64(m.Clipped) / float64(m.Elements)
}

// Add joins the measure of what comes next. The sums depend on the order and on
// the pieces in their last bits: join the same pieces in the same order.
func (m *Measure) Add(next *Measure) {
	m.Elements += next.Elements
	m.Blocks += next.Blocks
	m.NonFinite += next.NonFinite
	m.Clipped += next.Clipped
	m.ZeroBlocks += next.ZeroBlocks
	for i, n := range next.Scales {
		m.Scales[i] += n
	}
	m.XX, m.YY, m.XY = m.XX+next.XX, m.YY+next.YY, m.XY+next.XY
	m.EE, m.AbsE, m.MaxE = m.EE+next.EE, m.AbsE+next.AbsE, max(m.MaxE, next.MaxE)
}

const (
	chunkElements = 8192
	// measurePiece is the number of chunks that one goroutine takes at a time.
	measurePiece = 64
)

// MeasureBlocks compares rows × k numbers of src with what codes and scales of
// format f decode to, in one pass, on at most workers goroutines.
func MeasureBlocks(f Format, opts DecodeOptions, source dtype.Type, src, codes, scales []byte, rows, k, workers int) (*Measure, error) {
	m, err := newMeter(f, opts, source)
	if err != nil {
		return nil, err
	}
	if err := m.check(src, codes, scales, rows, k); err != nil {
		return nil, err
	}
	per := measurePiece * chunkElements / f.Block()
	pieces := make([]Measure, (len(scales)+per-1)/per)
	in, out := f.CodeBytes(f.Block()), f.Block()*m.size
	parallel(len(pieces), workers, func(i int) {
		at, end := i*per, min((i+1)*per, len(scales))
		m.piece(&pieces[i], src[at*out:end*out], codes[at*in:end*in], scales[at:end])
	})
	total := &Measure{}
	for i := range pieces {
		total.Add(&pieces[i])
	}
	return total, nil
}

// meter measures chunks. It is immutable.
type meter struct {
	format  Format
	source  dtype.Type
	size    int
	decoder *Decoder
	limits  [256]uint32 // the bits of the largest finite magnitude under each scale byte
	set     *kernel.Set
}

func newMeter(f Format, opts DecodeOptions, source dtype.Type) (*meter, error) {
	d, err := NewDecoder(f, dtype.F32, opts)
	if err != nil {
		return nil, err
	}
	size, err := sourceBytes(source)
	if err != nil {
		return nil, err
	}
	m := &meter{format: f, source: source, size: size, decoder: d, set: implementations()[0]}
	for b := range m.limits {
		limit := float32(float64(f.Element().Max()) * math.Abs(d.scale(byte(b))))
		m.limits[b] = math.Float32bits(limit) &^ (1 << 31) // NaN has none above it
	}
	return m, nil
}

// check holds the lengths to those of Encode.
func (m *meter) check(src, codes, scales []byte, rows, k int) error {
	e := &Encoder{recipe: &Recipe{Format: m.format}, size: m.size}
	_, err := e.blocks(codes, scales, src, rows, k)
	return err
}

func (m *meter) piece(sum *Measure, src, codes, scales []byte) {
	f := m.format
	per, in, out := chunkElements/f.Block(), f.CodeBytes(f.Block()), f.Block()*m.size
	w := new(workspace)
	for at := 0; at < len(scales); at += per {
		end := min(at+per, len(scales))
		m.chunk(sum, w, src[at*out:end*out], codes[at*in:end*in], scales[at:end])
	}
}

// stepElements is the part of a chunk that stays in the first-level cache.
const stepElements = 2048

// workspace is one step's originals and what became of them.
type workspace struct{ x, y [stepElements]float32 }

func (m *meter) chunk(sum *Measure, w *workspace, src, codes, scales []byte) {
	f := m.format
	per, in, out := stepElements/f.Block(), f.CodeBytes(f.Block()), f.Block()*m.size
	var s kernel.Sums
	for at := 0; at < len(scales); at += per {
		end := min(at+per, len(scales))
		n := (end - at) * f.Block()
		x, y := w.x[:n], w.y[:n]
		m.load(x, src[at*out:end*out])
		// the lengths are right: the error is nil
		_ = m.decoder.Decode(kernel.Bytes(y), codes[at*in:end*in], scales[at:end], 1, n)
		m.step(sum, &s, x, y, scales[at:end])
	}
	sum.XX += kernel.Total(&s.XX)
	sum.YY += kernel.Total(&s.YY)
	sum.XY += kernel.Total(&s.XY)
	sum.EE += kernel.Total(&s.EE)
	sum.AbsE += kernel.Total(&s.AbsE)
	sum.MaxE = max(sum.MaxE, kernel.Max(&s.MaxE))
}

func (m *meter) load(x []float32, src []byte) {
	switch m.source {
	case dtype.BF16:
		m.set.WidenBF16(kernel.Bytes(x), src)
	case dtype.F32:
		copy(kernel.Bytes(x), src)
	default:
		load(x, m.source, src)
	}
}

// step adds to sum what is counted and to s what is added up.
func (m *meter) step(sum *Measure, s *kernel.Sums, x, y []float32, scales []byte) {
	var limits [stepElements / 16]uint32
	for i, b := range scales {
		sum.Scales[b]++
		limits[i] = m.limits[b]
	}
	sum.Elements += int64(len(x))
	sum.Blocks += int64(len(scales))
	clipped, zeros := m.set.Beyond(limits[:len(scales)], x)
	sum.ZeroBlocks += int64(zeros)
	before := *s
	m.set.Errors(s, x, y)
	if total := kernel.Total(&s.XX) + kernel.Total(&s.YY) + kernel.Total(&s.EE); total-total != 0 {
		lost, above := dropNonFinite(x, y, limits[:len(scales)])
		sum.NonFinite += lost
		clipped -= above
		*s = before
		m.set.Errors(s, x, y)
	}
	sum.Clipped += int64(clipped)
}

// dropNonFinite makes pairs with NaN or infinity zero and counts them, and of
// those of x what is above the limit of its block.
func dropNonFinite(x, y []float32, limits []uint32) (n int64, above int) {
	block := len(x) / len(limits)
	for i := range x {
		if x[i]-x[i] == 0 && y[i]-y[i] == 0 {
			continue
		}
		if b := math.Float32bits(x[i]) &^ (1 << 31); b >= 0x7F800000 && b > limits[i/block] {
			above++
		}
		x[i], y[i] = 0, 0
		n++
	}
	return n, above
}
