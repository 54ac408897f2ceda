package shard

import "fmt"

// HostMemory is what a machine lets a process have, in bytes; 0 is not known
// or, of Limit, none.
type HostMemory struct {
	Total     int64
	Available int64  // without swapping
	Limit     int64  // of the control groups around the process
	LimitFrom string // the file that says so
}

// Warnings says in words why a load would not get the memory that it needs on
// a machine: the one at hand, which need not be the one that will load.
func (h *Host) Warnings(m HostMemory) []string {
	var list []string
	warn := func(have int64, what string) {
		list = append(list, fmt.Sprintf("a load needs %d bytes of memory on the host, and %s %d", h.RAM, what, have))
	}
	switch {
	case m.Limit > 0 && m.Limit < h.RAM:
		warn(m.Limit, "the control group of this process ("+m.LimitFrom+") allows")
	case m.Total > 0 && m.Total < h.RAM:
		warn(m.Total, "this machine has")
	case m.Available > 0 && m.Available < h.RAM:
		warn(m.Available, "this machine has free")
	}
	return list
}

// Unsplit is the plan of a whole checkpoint on one rank, where nothing but its
// size is known.
func Unsplit(path string, bytes int64) *Plan {
	return &Plan{Schema: Schema, Source: Source{Path: path}, Profile: RulesName, Layout: LayoutCheckpoint, ALog: ALogStored,
		TP: 1, EP: 1, PP: 1, Stages: []Stage{{Ranks: 1, Bytes: bytes, Arena: bytes}},
		Ranks: []Rank{{Bytes: bytes}}, Totals: Totals{Source: bytes, Read: bytes, Device: bytes},
		Notes: []string{"weights are the index's metadata.total_size: every tensor counts, and alignment does not"}}
}
