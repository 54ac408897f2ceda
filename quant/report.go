package quant

// Report counts what an encoding did. Reports of pieces are joined by Add.
type Report struct {
	Blocks     int64
	ZeroBlocks int64 // blocks whose every element is zero
	// NaNBlocks counts blocks of finite input whose scale is 255: no number can
	// be read from them. The scheme's system does the same.
	NaNBlocks int64
	FirstNaN  int64 // index of the first such block, where NaNBlocks > 0
	// LostBlocks counts blocks of finite input whose byte is not that of their
	// scale, because it overflowed or wrapped in the scheme's system: what is
	// read from them is zero or far too large.
	LostBlocks int64
	FirstLost  int64 // index of the first such block, where LostBlocks > 0
	Clipped    int64 // elements beyond the largest code
	NonFinite  int64 // NaN and infinite elements that a policy let through
}

// Add joins the report of the piece that begins at block first.
func (r *Report) Add(piece Report, first int64) {
	if r.NaNBlocks == 0 && piece.NaNBlocks > 0 {
		r.FirstNaN = piece.FirstNaN + first
	}
	if r.LostBlocks == 0 && piece.LostBlocks > 0 {
		r.FirstLost = piece.FirstLost + first
	}
	r.Blocks += piece.Blocks
	r.ZeroBlocks += piece.ZeroBlocks
	r.NaNBlocks += piece.NaNBlocks
	r.LostBlocks += piece.LostBlocks
	r.Clipped += piece.Clipped
	r.NonFinite += piece.NonFinite
}
