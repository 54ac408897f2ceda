package hip

import (
	"fmt"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// Error is what a call of the runtime answered.
type Error struct {
	Call string
	Code int32
	Name string // "hipError…"
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%d, %s)", e.Call, e.Text, e.Code, e.Name) }

// Is tells those apart that callers act upon.
func (e *Error) Is(target error) bool {
	return target == device.ErrMemory && e.Code == errorOutOfMemory || target == device.ErrNoDevice && e.Code == errorNoDevice
}

// check makes an error of an answer and clears it in the runtime, which would
// give it again to a later call.
func (a *api) check(call string, result uintptr) error {
	code := int32(result)
	if code == 0 {
		return nil
	}
	a.lastError.Call()
	return &Error{
		Call: call, Code: code,
		Name: dl.String(a.errorName.Call(uintptr(code))),
		Text: dl.String(a.errorText.Call(uintptr(code))),
	}
}

// Constants of hip_runtime_api.h.
const (
	errorOutOfMemory = 2
	errorNoDevice    = 100
	errorNotReady    = 600

	streamNonBlocking    = 1 // hipStreamNonBlocking
	eventDisableTiming   = 2 // hipEventDisableTiming
	hostRegisterPortable = 1 // hipHostRegisterPortable
	memcpyHostToDevice   = 1 // hipMemcpyHostToDevice
	ipcLazyPeerAccess    = 1 // hipIpcMemLazyEnablePeerAccess of newer headers; 5.2 has 0
)
