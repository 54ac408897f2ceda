package quant

// Layout is where a system puts the codes and scales of MXFP4.
type Layout uint8

// The layouts.
const (
	CompressedTensors Layout = iota
)
