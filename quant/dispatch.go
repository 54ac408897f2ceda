package quant

import (
	"fmt"
	"sync"

	"ckpt/quant/internal/kernel"
)

// implementations are the kernels that this processor runs, the fastest first.
var implementations = sync.OnceValue(kernel.Sets)

// Reference is the name of the implementation that follows the rules as they are
// written, element by element. It does every format; kernels do MXFP4 and MXFP8.
const Reference = "reference"

// Implementations lists what an Encoder or Decoder can be made to use, the
// fastest first and the reference last: "avx2" where the processor has it and
// CKPT_DISABLE does not name it, "portable", "reference". All give the same bytes.
func Implementations() (names []string) {
	for _, s := range implementations() {
		names = append(names, s.Name)
	}
	return append(names, Reference)
}

// named finds an implementation; nil is the reference.
func named(name string) (*kernel.Set, error) {
	for _, s := range implementations() {
		if s.Name == name {
			return s, nil
		}
	}
	if name == Reference {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: no implementation %q here: there are %q", ErrUnsupported, name, Implementations())
}

// accelerate chooses a kernel for the recipe; nil leaves the reference.
func (e *Encoder) accelerate() { e.use(implementations()[0]) }

// accelerate chooses a kernel for the format; nil leaves the reference.
func (d *Decoder) accelerate() { d.use(implementations()[0]) }

// With gives an encoder like e that uses the named implementation, or the
// reference where that has no kernel for its work: see Implementation.
func (e *Encoder) With(implementation string) (*Encoder, error) {
	s, err := named(implementation)
	if err != nil {
		return nil, err
	}
	c := *e
	c.use(s)
	return &c, nil
}

// With gives a decoder like d that uses the named implementation.
func (d *Decoder) With(implementation string) (*Decoder, error) {
	s, err := named(implementation)
	if err != nil {
		return nil, err
	}
	c := *d
	c.use(s)
	return &c, nil
}

// Implementation is the name of what e uses.
func (e *Encoder) Implementation() string { return e.implementation }

// Implementation is the name of what d uses.
func (d *Decoder) Implementation() string { return d.implementation }

func (e *Encoder) use(s *kernel.Set) {
	e.fast, e.implementation = nil, Reference
	if f := fastEncoder(e, s); f != nil {
		e.fast, e.implementation = f, s.Name
	}
}

func (d *Decoder) use(s *kernel.Set) {
	d.fast, d.implementation = nil, Reference
	if f := fastDecoder(d, s); f != nil {
		d.fast, d.implementation = f, s.Name
	}
}
