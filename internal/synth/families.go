package synth

import (
	"fmt"
	"iter"

	"ckpt/dtype"
	"ckpt/internal/names"
	"ckpt/model"
)

// family is a family of tensors with the one shape and type that is written.
type family struct {
	text  string // with names.Mark
	slots int
	dtype dtype.Type
	shape []uint64
	bytes int64  // of one tensor
	live  uint64 // elements that are not padding
	count int64

	numbers func(ordinal int64) [names.Slots]uint32
	rank    rank // in the index
}

// pattern is the text with {} in place of numbers.
func (f *family) pattern() string {
	return names.Pattern{Text: f.text, Slots: f.slots}.String()
}

// tensors are all members of the family.
func (f *family) tensors() iter.Seq[tensor] {
	return func(yield func(tensor) bool) {
		for i := range f.count {
			if !yield(tensor{f, f.numbers(i)}) {
				return
			}
		}
	}
}

// familiesOf are the families that a profile expects of a config.
func familiesOf(profile string, config []byte) ([]*family, error) {
	p, ok := model.Named(profile)
	if !ok {
		return nil, fmt.Errorf("no profile is called %q", profile)
	}
	c, err := model.ParseConfig(config)
	if err != nil {
		return nil, err
	}
	in, problems := p.Instantiate(model.View{Config: c})
	if len(problems) > 0 {
		pr := problems[0]
		return nil, fmt.Errorf("config: %s is %s, not %s: %s", pr.Field, pr.Actual, pr.Expected, pr.Msg)
	}
	var out []*family
	for _, mf := range in.Families {
		if mf.Count == 0 || mf.Tolerated {
			continue
		}
		f, err := newFamily(mf)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func newFamily(mf *model.Family) (*family, error) {
	f := &family{
		text: mf.Text, slots: mf.Slots, dtype: mf.DTypes[0], shape: mf.Sizes(),
		count: mf.Count, numbers: mf.Numbers, live: 1,
	}
	for _, d := range mf.Shapes[0] {
		f.live *= d.N // of a dimension with a least size, that
	}
	size, err := f.dtype.Size(f.shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.pattern(), err)
	}
	f.bytes = int64(size)
	return f, nil
}
