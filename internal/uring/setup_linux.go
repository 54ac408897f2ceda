package uring

import (
	"errors"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// modes are ways to run a ring, the best first: completions are handled when the
// one thread that uses the ring asks for them, and nowhere else. Older kernels
// answer EINVAL to what they do not know.
var modes = []uint32{
	setupSingleIssuer | setupDeferTaskrun | setupTaskrunFlag, // Linux 6.1
	setupCoopTaskrun | setupTaskrunFlag,                      // Linux 5.19
	0,
}

// New makes a ring with room for so many reads, for the calling thread alone. An
// error is an *UnavailableError.
func New(entries int) (*Ring, error) {
	var p params
	fd, err := setup(entries, &p)
	if err != nil {
		return nil, &UnavailableError{refusal(err), err}
	}
	r := &Ring{fd: fd, flags: p.Flags}
	err = r.prepare(&p)
	if err == nil {
		err = r.tryRead()
	}
	if err != nil {
		return nil, errors.Join(err, r.unmap(), unix.Close(fd))
	}
	return r, nil
}

// Mode names what the kernel gave of what was wished for.
func (r *Ring) Mode() string {
	var words []string
	for _, f := range []struct {
		bit  uint32
		name string
	}{{setupSingleIssuer, "single issuer"}, {setupDeferTaskrun, "deferred completions"}, {setupCoopTaskrun, "cooperative completions"}} {
		if r.flags&f.bit != 0 {
			words = append(words, f.name)
		}
	}
	return strings.Join(words, ", ")
}

func setup(entries int, p *params) (int, error) {
	for i, mode := range modes {
		*p = params{Flags: mode | setupClamp}
		fd, errno := setupCall(uint32(entries), p)
		if errno == 0 {
			return fd, nil
		}
		if errno != unix.EINVAL || i == len(modes)-1 {
			return -1, errno
		}
	}
	panic("unreachable")
}

// setupCall is the system call; tests put refusals in its place.
var setupCall = func(entries uint32, p *params) (int, unix.Errno) {
	for {
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
		if errno != unix.EINTR {
			return int(fd), errno
		}
	}
}

func (r *Ring) prepare(p *params) error {
	if p.Features&featSingleMmap == 0 || p.Features&featNoDrop == 0 {
		return &UnavailableError{"the kernel's is too old, it needs Linux 5.6", nil}
	}
	if err := r.canRead(); err != nil {
		return err
	}
	return r.mapRings(p)
}

// canRead asks the kernel for the operations that are used.
func (r *Ring) canRead() error {
	var ops probe
	if errno := r.register(registerProbe, unsafe.Pointer(&ops), len(ops.Ops)); errno != 0 {
		return &UnavailableError{"the kernel's is too old, it needs Linux 5.6", errno}
	}
	for _, op := range []uint8{opRead, opReadFixed} {
		if op > ops.LastOp || ops.Ops[op].Flags&probeSupported == 0 {
			return &UnavailableError{"the kernel's cannot read files", nil}
		}
	}
	return nil
}

// tryRead reads a byte of this program. A filter may allow to make rings and
// forbid to enter them, which is known before anything depends on it.
func (r *Ring) tryRead() error {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil // nothing to try it on
	}
	defer f.Close()
	if err := r.Read(Request{FD: int(f.Fd()), Buf: r.tried[:]}); err != nil {
		return err
	}
	if err := r.Wait(1); err != nil {
		r.inflight = 0 // nothing was started
		return &UnavailableError{"a read through it fails: " + refusal(err), err}
	}
	_, res, ok := r.Pop()
	switch {
	case ok && res < 0:
		return &UnavailableError{"a read through it fails: " + refusal(unix.Errno(-res)), unix.Errno(-res)}
	case !ok || res != 1:
		return &UnavailableError{"a read through it gives nothing", nil}
	}
	return nil
}

// mapRings maps the queues and the entries. The kernel gives the sizes and the
// places of the numbers in them.
func (r *Ring) mapRings(p *params) (err error) {
	size := max(p.SQ.Array+4*p.SQEntries, p.CQ.CQEs+uint32(unsafe.Sizeof(cqe{}))*p.CQEntries)
	if r.rings, err = r.mmap(int(size), offSQRing); err != nil {
		return err
	}
	entries, err := r.mmap(int(p.SQEntries)*int(unsafe.Sizeof(sqe{})), offSQEs)
	if err != nil {
		return err
	}
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(unsafe.SliceData(entries))), p.SQEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.rings[p.CQ.CQEs])), p.CQEntries)
	r.sqHead, r.sqTail, r.sqMask = r.number(p.SQ.Head), r.number(p.SQ.Tail), *r.number(p.SQ.Mask)
	r.sqFlags = r.number(p.SQ.Flags)
	r.cqHead, r.cqTail, r.cqMask = r.number(p.CQ.Head), r.number(p.CQ.Tail), *r.number(p.CQ.Mask)
	// The kernel takes entries by a list of their places; they are used in turn.
	array := unsafe.Slice(r.number(p.SQ.Array), p.SQEntries)
	for i := range array {
		array[i] = uint32(i)
	}
	return nil
}

func (r *Ring) number(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[at])) }

func (r *Ring) mmap(size int, off int64) ([]byte, error) {
	mem, err := unix.Mmap(r.fd, off, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, &UnavailableError{"mapping its queues: " + err.Error(), os.NewSyscallError("mmap", err)}
	}
	return mem, nil
}

func (r *Ring) unmap() error {
	var err error
	if r.rings != nil {
		err = unix.Munmap(r.rings)
	}
	if r.sqes != nil {
		p := unsafe.Pointer(unsafe.SliceData(r.sqes))
		err = errors.Join(err, unix.Munmap(unsafe.Slice((*byte)(p), len(r.sqes)*int(unsafe.Sizeof(sqe{})))))
	}
	r.rings, r.sqes, r.cqes = nil, nil, nil
	return err
}
