package shard

import "slices"

// sums checks that the numbers of the plan are those of its program.
func (v *prover) sums() {
	bad := func(what string, is, want int64) {
		if is != want {
			v.fault(&v.proof.Totals, "%s is %d and should be %d", what, is, want)
		}
	}
	var skipped, dropped, read, device, gaps int64
	for _, h := range v.Program.Skipped {
		skipped += h.Bytes
	}
	for i := range v.Program.Extents {
		e := &v.Program.Extents[i]
		gaps += e.Bytes
		for k := range e.Runs {
			for c := range e.Runs[k].Pieces {
				for _, d := range v.Program.Templates[e.Runs[k].Pieces[c].Template].Dropped {
					dropped += (d.To - d.From) * e.Runs[k].Records()
				}
			}
		}
	}
	read = v.read
	for _, s := range v.Stages {
		device += s.Bytes * int64(s.Ranks)
	}
	t := &v.Plan.Totals
	bad("read_bytes", t.Read, read)
	bad("skipped_bytes", t.Skipped, skipped)
	bad("source_bytes", t.Source, read+skipped)
	bad("dropped_bytes", t.Dropped, dropped)
	bad("gap_bytes", t.Gaps, gaps-read)
	bad("device_bytes", t.Device, device)
	bad("repeated_bytes", t.Repeated, device-(read-dropped))
	bad("extents", t.Extents, int64(len(v.Program.Extents)))
	v.families(bad)
}

func (v *prover) families(bad func(what string, is, want int64)) {
	replicated := make([]int64, len(v.Stages))
	tensors, skipped := v.tensors, int64(0)
	for i := range v.Families {
		f, u := &v.Families[i], &v.use[i]
		if f.Action == Skip {
			skipped += f.Total
			tensors += f.Count
			bad("read bytes of the skipped "+f.Pattern, u.total, 0)
			continue
		}
		bad("count of "+f.Pattern, f.Count, u.count)
		bad("bytes_total of "+f.Pattern, f.Total, u.total)
		if !slices.Equal(f.Stages, u.stages) || f.PerRank != slices.Max(u.stages) {
			v.fault(&v.proof.Totals, "bytes a rank of %s are %v and should be %v", f.Pattern, f.Stages, u.stages)
		}
		for s, n := range f.Stages {
			if f.Action == Replicate {
				replicated[s] += n
			}
		}
	}
	t := &v.Plan.Totals
	bad("skipped_bytes of families", skipped, t.Skipped)
	bad("source_tensors", t.Tensors, tensors)
	bad("replicated_bytes_per_rank", t.Replicated, slices.Max(replicated))
	padding := int64(0)
	for _, s := range v.Stages {
		padding = max(padding, s.Arena-s.Bytes)
	}
	bad("padding_bytes_per_rank", t.Padding, padding)
	sums := groups(v.Families, len(v.Stages))
	for i, g := range v.Groups {
		if i >= len(sums) || g.Group != sums[i].Group || g.Total != sums[i].Total || g.PerRank != sums[i].PerRank || g.Action != sums[i].Action || !slices.Equal(g.Stages, sums[i].Stages) {
			v.fault(&v.proof.Totals, "the sum of group %s is not that of its families", g.Group)
		}
	}
	bad("groups", int64(len(v.Groups)), int64(len(sums)))
}
