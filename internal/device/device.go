// Package device describes devices that are bound at run time; the packages
// below it bind CUDA, HIP and OpenCL. It has what is common to them: what a
// runtime, a device, a buffer and a queue are, and how memory is pinned.
//
// # Concurrency
//
// Runtimes, devices and buffers may be used from many goroutines. A queue
// belongs to one goroutine that is locked to its thread.
package device

import (
	"errors"
	"fmt"
	"os"
)

// Errors that callers tell apart; those of the runtimes match them.
var (
	// ErrNoDevice: the library is there and knows of no device.
	ErrNoDevice = errors.New("no device")
	// ErrMemory: the device has not enough memory.
	ErrMemory = errors.New("out of device memory")
)

// Runtime is a library of a vendor, loaded and initialised.
type Runtime interface {
	// Kind is "cuda", "hip" or "opencl".
	Kind() string
	// Library is the name under which the library was found.
	Library() string
	// Version is the library's own.
	Version() string
	// Devices are the devices, at least one. Asking costs them no memory.
	Devices() []Info
	// Open takes a device, by its place in Devices.
	Open(index int) (Device, error)
}

// Info describes a device.
type Info struct {
	Name string
	// Memory is all of it, in bytes.
	Memory int64
	// Detail is what else tells it from others: bus address, driver, platform.
	Detail string
	// Host is whether its memory is that of the host.
	Host bool
}

// Device is a device that is in use.
type Device interface {
	Memory() (free, total int64, err error)
	// Alloc makes a buffer whose memory is really there.
	Alloc(bytes int64) (Buffer, error)
	// Import maps a buffer of another process.
	Import(Handle) (Buffer, error)
	// Register pins memory of the host. Unregister undoes exactly that.
	Register(mem []byte) error
	Unregister(mem []byte) error
	// NewQueue makes a queue, on the thread that will use it.
	NewQueue() (Queue, error)
	// Close releases the device. What is still open of it is an error.
	Close() error
}

// Buffer is memory of a device.
type Buffer interface {
	Bytes() int64
	// Export makes a handle for another process, a new one each time. The error
	// matches errors.ErrUnsupported where the runtime has none.
	Export() (Handle, error)
	Close() error
}

// Queue copies in its order. Ranges lie within their buffers: callers check.
type Queue interface {
	Copy(dst Buffer, off int64, src []byte) error
	// CopyRect copies rows of run bytes that lie stride bytes apart in src and
	// together in dst.
	CopyRect(dst Buffer, off int64, src []byte, rows, run, stride int) error
	Record() (Event, error)
	// Read returns when dst is filled.
	Read(dst []byte, src Buffer, off int64) error
	Close() error
}

// Event is done when what was started before it is.
type Event interface {
	Done() (bool, error)
}

// Handle is what another process needs to map a buffer.
type Handle struct {
	Kind  string   // "cuda-fd", "cuda-ipc", "hip-ipc"
	File  *os.File // of kinds that are descriptors
	Data  []byte   // of kinds that are bytes
	Bytes int64    // of the whole allocation
}

// The kinds of handles.
const (
	CUDAFile = "cuda-fd"
	CUDAIPC  = "cuda-ipc"
	HIPIPC   = "hip-ipc"
)

// IPCBytes is the size of a handle of CUDA and HIP.
const IPCBytes = 64

// Words are the bytes of such a handle as it is passed by value.
type Words [IPCBytes / 8]uint64

// LeakError says what was still open when a device was closed.
type LeakError struct {
	Device                string
	Buffers, Queues, Pins int64
}

func (e *LeakError) Error() string {
	return fmt.Sprintf("%s is closed with %d buffers, %d queues and %d pinned ranges in use",
		e.Device, e.Buffers, e.Queues, e.Pins)
}
