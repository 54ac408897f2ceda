package cuda

import (
	"fmt"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// Error is what a call of the driver answered.
type Error struct {
	Call string
	Code int32
	Name string // "CUDA_ERROR_…"
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%d, %s)", e.Call, e.Text, e.Code, e.Name) }

// Is tells those apart that callers act upon.
func (e *Error) Is(target error) bool {
	return target == device.ErrMemory && e.Code == errorOutOfMemory || target == device.ErrNoDevice && e.Code == errorNoDevice
}

// check makes an error of an answer: a CUresult, an int, in a register that may
// hold anything above it.
func (a *api) check(call string, result uintptr) error {
	code := int32(result)
	if code == 0 {
		return nil
	}
	e := &Error{Call: call, Code: code, Name: "unknown", Text: "error"}
	var text *byte
	if a.errorName.Call(uintptr(code), uintptr(unsafe.Pointer(&text))) == 0 && text != nil {
		e.Name = dl.Text(text)
	}
	text = nil
	if a.errorText.Call(uintptr(code), uintptr(unsafe.Pointer(&text))) == 0 && text != nil {
		e.Text = dl.Text(text)
	}
	return e
}

// Constants of cuda.h.
const (
	errorOutOfMemory = 2
	errorNoDevice    = 100
	errorNotReady    = 600

	attributeMajor   = 75  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor   = 76  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
	attributeVirtual = 102 // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
	attributePosix   = 103 // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED

	streamNonBlocking    = 1 // CU_STREAM_NON_BLOCKING
	eventDisableTiming   = 2 // CU_EVENT_DISABLE_TIMING
	hostRegisterPortable = 1 // CU_MEMHOSTREGISTER_PORTABLE
	ipcLazyPeerAccess    = 1 // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
	memoryTypeHost       = 1 // CU_MEMORYTYPE_HOST
	memoryTypeDevice     = 2 // CU_MEMORYTYPE_DEVICE

	allocationPinned       = 1 // CU_MEM_ALLOCATION_TYPE_PINNED
	locationDevice         = 1 // CU_MEM_LOCATION_TYPE_DEVICE
	handlePosix            = 1 // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
	accessReadWrite        = 3 // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	granularityRecommended = 1 // CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
)

// memcpy2D is CUDA_MEMCPY2D.
type memcpy2D struct {
	srcX, srcY uintptr
	srcType    uint32
	_          uint32
	srcHost    uintptr
	srcDevice  uintptr
	srcArray   uintptr
	srcPitch   uintptr
	dstX, dstY uintptr
	dstType    uint32
	_          uint32
	dstHost    uintptr
	dstDevice  uintptr
	dstArray   uintptr
	dstPitch   uintptr
	width      uintptr
	height     uintptr
}

type location struct {
	kind uint32
	id   int32
}

// allocation is CUmemAllocationProp.
type allocation struct {
	kind     uint32
	handles  uint32
	location location
	win32    uintptr
	// compression type, GPUDirect RDMA, usage and what is reserved: all none
	_ [8]byte
}

// access is CUmemAccessDesc.
type access struct {
	location location
	flags    uint32
}
