package uring

// Numbers and layouts are those of linux/io_uring.h.
const (
	setupClamp        = 1 << 4
	setupSingleIssuer = 1 << 12 // Linux 6.0
	setupDeferTaskrun = 1 << 13 // Linux 6.1
	setupCoopTaskrun  = 1 << 8  // Linux 5.19
	setupTaskrunFlag  = 1 << 9  // Linux 5.19

	featSingleMmap = 1 << 0 // Linux 5.4
	featNoDrop     = 1 << 1 // Linux 5.5

	enterGetEvents = 1 << 0

	sqTaskrun = 1 << 2 // with setupTaskrunFlag: completions wait for enterGetEvents

	registerBuffers     = 0
	registerFiles       = 2
	registerFilesUpdate = 6 // Linux 5.5
	registerProbe       = 8 // Linux 5.6

	opReadFixed = 4
	opRead      = 22 // Linux 5.6

	sqeFixedFile = 1 << 0

	probeSupported = 1 << 0

	offSQRing = 0
	offSQEs   = 0x10000000
)

type sqOffsets struct {
	Head, Tail, Mask, Entries, Flags, Dropped, Array, _ uint32
	_                                                   uint64
}

type cqOffsets struct {
	Head, Tail, Mask, Entries, Overflow, CQEs, Flags, _ uint32
	_                                                   uint64
}

type params struct {
	SQEntries, CQEntries, Flags, _, _, Features, _ uint32
	_                                              [3]uint32
	SQ                                             sqOffsets
	CQ                                             cqOffsets
}

type sqe struct {
	Opcode   uint8
	Flags    uint8
	_        uint16
	FD       int32
	Off      uint64
	Addr     uint64
	Len      uint32
	_        uint32
	UserData uint64
	BufIndex uint16
	_        uint16
	_        uint32
	_        [2]uint64
}

type cqe struct {
	UserData uint64
	Res      int32
	_        uint32
}

type filesUpdate struct {
	Offset uint32
	_      uint32
	FDs    uint64
}

type probeOp struct {
	Op, _ uint8
	Flags uint16
	_     uint32
}

type probe struct {
	LastOp, Len uint8
	_           uint16
	_           [3]uint32
	Ops         [64]probeOp
}
