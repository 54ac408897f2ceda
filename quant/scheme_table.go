package quant

var schemes = []*Scheme{}
