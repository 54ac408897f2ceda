package uring

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is one io_uring: two queues that lie in memory shared with the kernel.
//
// The pointers below point into that memory, which Close unmaps. The kernel
// writes the head of the submission queue and the tail of the completion queue,
// this side the other two; both are read and written atomically, which orders
// them against the entries.
type Ring struct {
	fd    int
	flags uint32

	rings []byte // both queues
	sqes  []sqe
	cqes  []cqe

	sqHead, sqTail *uint32
	sqFlags        *uint32 // written by the kernel
	cqHead, cqTail *uint32
	sqMask, cqMask uint32

	inflight int // started or queued, and not taken
	buffers  [][]byte
	files    int
	tried    [1]byte // read when the ring is made; stacks move, this does not
}

// Entries is how many reads can be queued.
func (r *Ring) Entries() int { return len(r.sqes) }

// Inflight is how many reads are queued or started and not popped.
func (r *Ring) Inflight() int { return r.inflight }

// Request is a read.
type Request struct {
	FD     int  // a descriptor, or a place of the registered files
	Fixed  bool // FD is a place
	Buf    []byte
	Offset int64
	ID     uint64
}

// Read queues a read. Buf is written to until its completion is popped. It may
// lie in a registered buffer or anywhere else.
func (r *Ring) Read(q Request) error {
	if r.fd < 0 {
		return os.ErrClosed
	}
	tail := *r.sqTail
	if tail-atomic.LoadUint32(r.sqHead) >= uint32(len(r.sqes)) {
		return ErrFull
	}
	if len(q.Buf) == 0 || len(q.Buf) > math.MaxInt32 {
		return fmt.Errorf("reading %d bytes at once: %w", len(q.Buf), errors.ErrUnsupported)
	}
	e := sqe{
		Opcode: opRead, FD: int32(q.FD), Off: uint64(q.Offset),
		Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(q.Buf)))), Len: uint32(len(q.Buf)), UserData: q.ID,
	}
	if q.Fixed {
		e.Flags = sqeFixedFile
	}
	if i := r.bufferOf(q.Buf); i >= 0 {
		e.Opcode, e.BufIndex = opReadFixed, uint16(i)
	}
	r.sqes[tail&r.sqMask] = e
	atomic.StoreUint32(r.sqTail, tail+1)
	r.inflight++
	return nil
}

// bufferOf is the registered buffer that all of buf lies in, -1 where there is
// none. Addresses are only compared.
func (r *Ring) bufferOf(buf []byte) int {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	for i, b := range r.buffers {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		if from >= start && from+uintptr(len(buf)) <= start+uintptr(len(b)) {
			return i
		}
	}
	return -1
}

// Submit starts what is queued.
func (r *Ring) Submit() error { return r.enter(0) }

// Wait starts what is queued and blocks until so many completions are there.
func (r *Ring) Wait(n int) error {
	if r.fd >= 0 && r.ready() >= n && r.queued() == 0 && !r.deferred() {
		return nil
	}
	return r.enter(min(n, r.inflight))
}

// deferred says whether completions wait until the kernel is asked for them. It
// must be even where others are there already: reads of what lies in the page
// cache, or of holes, are complete when they are submitted, and keep the queue
// from ever being empty.
func (r *Ring) deferred() bool { return atomic.LoadUint32(r.sqFlags)&sqTaskrun != 0 }

func (r *Ring) queued() int { return int(*r.sqTail - atomic.LoadUint32(r.sqHead)) }

func (r *Ring) ready() int { return int(atomic.LoadUint32(r.cqTail) - *r.cqHead) }

// enter repeats io_uring_enter until the kernel has taken what is queued and, with
// n > 0, given n completions. The signal by which Go preempts its threads
// interrupts it, and a machine short of memory asks to come again; what was taken
// before is told by the head of the queue.
func (r *Ring) enter(n int) error {
	if r.fd < 0 {
		return os.ErrClosed
	}
	for tries := 0; ; {
		queued, deferred := r.queued(), r.deferred()
		if queued == 0 && (n == 0 || r.ready() >= n) && !deferred {
			return nil
		}
		var flags uintptr
		if n > 0 || deferred {
			flags = enterGetEvents
		}
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(queued), uintptr(n), flags, 0, 0)
		switch errno {
		case 0, unix.EINTR:
		case unix.EAGAIN, unix.EBUSY:
			if tries++; tries > 1000 {
				return os.NewSyscallError("io_uring_enter", errno)
			}
			if r.ready() > 0 {
				return nil // room must be made first
			}
		default:
			return os.NewSyscallError("io_uring_enter", errno)
		}
	}
}

// Pop takes a completion: what was read, or a negative error number.
func (r *Ring) Pop() (id uint64, res int, ok bool) {
	if r.fd < 0 {
		return 0, 0, false
	}
	head := *r.cqHead
	if head == atomic.LoadUint32(r.cqTail) {
		return 0, 0, false
	}
	e := r.cqes[head&r.cqMask]
	atomic.StoreUint32(r.cqHead, head+1)
	r.inflight--
	return e.UserData, int(e.Res), true
}

// Drain waits until nothing is in flight and drops the completions.
func (r *Ring) Drain() error {
	for r.inflight > 0 {
		if err := r.Wait(1); err != nil {
			return err
		}
		for _, _, ok := r.Pop(); ok; _, _, ok = r.Pop() {
		}
	}
	return nil
}

// Close waits for what is in flight and releases the ring. It may be called twice.
// Where waiting fails, as on another thread, buffers may still be written to, and
// the error says so.
func (r *Ring) Close() error {
	if r.fd < 0 {
		return nil
	}
	err := r.Drain()
	if err != nil {
		err = fmt.Errorf("reads are still in flight: %w", err)
	}
	err = errors.Join(err, r.unmap(), unix.Close(r.fd))
	r.fd, r.buffers = -1, nil
	return err
}
