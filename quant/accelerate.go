package quant

// accelerate chooses a kernel for the recipe; nil leaves the reference.
func (e *Encoder) accelerate() { e.fast = nil }

// accelerate chooses a kernel for the format; nil leaves the reference.
func (d *Decoder) accelerate() { d.fast = nil }
