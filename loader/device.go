package loader

// Device is memory that arenas of ranks live in.
type Device interface {
	// Name is "null", "host", "opencl:0 NAME", "cuda:0 NAME", "hip:0 NAME".
	Name() string
	// Memory is what the device has free and in all, in bytes; 0, 0 where it
	// cannot be known or does not matter.
	Memory() (free, total int64, err error)
	// Alloc makes an arena of so many bytes, its contents undefined, its memory
	// really there: writing to it costs no page faults. The error matches
	// ErrMemory where there is not enough.
	Alloc(bytes int64) (Arena, error)
	// Register tells the device of staging memory that copies will come from.
	// It may refuse; copies work all the same, slower. Unregister undoes it.
	Register(mem []byte) error
	Unregister(mem []byte) error
	// NewQueue makes a queue. It is called on the thread that will use it.
	NewQueue() (Queue, error)
	// Ways lists how the device can take rows, the default first.
	Ways() []Way
	// Close releases the device. All arenas and queues are closed before.
	Close() error
}

// Arena is one allocation on a device.
type Arena interface {
	Bytes() int64
	Close() error
}

// Way is how rows, pieces that lie apart in the staging area and together in
// the arena, reach a device.
type Way string

// The ways.
const (
	// WayDirect: the processor writes each row to its place.
	WayDirect Way = "direct"
	// WayPack: the processor packs the rows into a second slot, and the device
	// copies that as one run.
	WayPack Way = "pack"
	// WayRect: the device copies the rectangle by itself.
	WayRect Way = "rect"
)

// Rect is Rows pieces of Run bytes, Stride bytes apart in Src, beginning at its
// first byte; in the arena they lie together.
type Rect struct {
	Src    []byte
	Rows   int
	Run    int
	Stride int
}

// Queue copies to the arenas of one device, in any order. It is used from one
// goroutine that is locked to its thread.
type Queue interface {
	// Copy starts copying src to off. src must not change before an event that
	// was recorded later is done.
	Copy(dst Arena, off int64, src []byte) error
	// CopyRect starts copying rows; only where Ways has WayDirect or WayRect.
	CopyRect(dst Arena, off int64, r Rect) error
	// Record marks everything that was started so far.
	Record() (Event, error)
	// ReadBack copies from an arena and returns when dst is filled.
	ReadBack(dst []byte, src Arena, off int64) error
	Close() error
}

// Event is done when what was started before it is done. It is polled, on the
// thread of its queue; when it is done or failed it is spent.
type Event interface {
	Done() (bool, error)
}
