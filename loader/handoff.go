package loader

import "os"

// CanaryBytes is what an arena that is handed over has behind the bytes of its
// rank: a page for the canary by which a client knows that it mapped the arena
// that it was given and not another.
const CanaryBytes = 4096

// Exporter is an arena that another process can have.
type Exporter interface {
	Arena
	// Export makes a handle for one client. Nothing is written to the arena
	// after the first one. The caller closes the handle when it is sent.
	Export() (Handle, error)
}

// Sealer is an arena whose bytes can be made final, for every process. Memory of
// devices cannot: whoever has it can write to it.
type Sealer interface {
	Arena
	// Seal fails where somebody else can still write. Nothing is written after
	// it, whether it fails or not; it may be tried again.
	Seal() error
}

// Handle is how an arena travels to another process.
type Handle struct {
	// Kind says what it is: "memfd" for host memory in a sealed memfd,
	// "cuda-fd" for a POSIX file descriptor of CUDA's virtual memory
	// management, "cuda-ipc" and "hip-ipc" for the opaque handles of those
	// runtimes, "hip-fd" for a file descriptor of HIP's virtual memory
	// management.
	Kind string
	File *os.File // kinds that are descriptors; nil else
	Data []byte   // kinds that are bytes
	// Bytes is the size of the allocation as the other side has to map it:
	// at least Arena.Bytes, a multiple of the granularity.
	Bytes int64
}

// Close closes the descriptor, if it is one.
func (h Handle) Close() error {
	if h.File == nil {
		return nil
	}
	return h.File.Close()
}
