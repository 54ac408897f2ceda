package quant

import (
	"fmt"

	"ckpt/dtype"
)

// Layout is where a system puts codes and scales, and what it calls them. It is
// always told, never inferred: another order of nibbles gives fluent nonsense
// that no statistic shows.
type Layout uint8

// The layouts.
const (
	// LayoutPlain is ours: codes and scales as the package comment says.
	LayoutPlain Layout = iota
	LayoutCompressedTensors
	LayoutCompressedTensors8
	LayoutQuark
	LayoutGPTOSS
	LayoutDeepSeek
	LayoutMLX
	LayoutKimiLinear
	LayoutGGML
	LayoutModelOptNVFP4
	LayoutCompressedTensorsNVFP4
	LayoutGGMLNVFP4
)

// LayoutInfo is what a layout means.
type LayoutInfo struct {
	Name      string
	Codes     string // name of the tensor of codes, * for the module
	Scales    string // likewise, empty where scales lie inside the blocks
	CodeType  dtype.Type
	ScaleType dtype.Type // Invalid where there is no tensor of scales
	Shapes    string
	Nibbles   string
}

// Info says what l means; nothing of what is no layout.
func (l Layout) Info() LayoutInfo {
	if int(l) >= len(layouts) {
		return LayoutInfo{Name: fmt.Sprintf("Layout(%d)", uint8(l))}
	}
	return layouts[l]
}

// String is the name of l.
func (l Layout) String() string { return l.Info().Name }
