package opencl

import (
	"fmt"

	"ckpt/internal/device"
)

// Error is what a call of OpenCL answered.
type Error struct {
	Call string
	Code int32
}

func (e *Error) Error() string {
	if name := codes[e.Code]; name != "" {
		return fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Code)
	}
	return fmt.Sprintf("%s: error %d", e.Call, e.Code)
}

// Is tells those apart that callers act upon.
func (e *Error) Is(target error) bool {
	return target == device.ErrMemory &&
		(e.Code == memObjectAllocationFailure || e.Code == outOfResources || e.Code == outOfHostMemory || e.Code == invalidBufferSize)
}

func check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return &Error{call, code}
}

// Constants of CL/cl.h and CL/cl_ext.h.
const (
	deviceTypeAll = 0xFFFFFFFF
	deviceTypeCPU = 1 << 1

	platformVersion = 0x0901
	platformName    = 0x0902
	contextPlatform = 0x1084

	deviceType       = 0x1000
	deviceMaxAlloc   = 0x1010
	deviceGlobalMem  = 0x101F
	deviceName       = 0x102B
	driverVersion    = 0x102D
	deviceExtensions = 0x1030
	// Deprecated since OpenCL 2.0, and answered all the same.
	deviceHostUnified = 0x1035
	deviceFreeAMD     = 0x4039 // size_t[]: KiB free, KiB of the largest free block

	memReadWrite = 1 << 0
	eventStatus  = 0x11D3
	complete     = 0

	deviceNotFound             = -1
	memObjectAllocationFailure = -4
	outOfResources             = -5
	outOfHostMemory            = -6
	invalidBufferSize          = -61
)

var codes = map[int32]string{
	-1: "CL_DEVICE_NOT_FOUND", -2: "CL_DEVICE_NOT_AVAILABLE", -4: "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	-5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY",
	-14: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-30: "CL_INVALID_VALUE", -32: "CL_INVALID_PLATFORM", -33: "CL_INVALID_DEVICE", -34: "CL_INVALID_CONTEXT",
	-36: "CL_INVALID_COMMAND_QUEUE", -37: "CL_INVALID_HOST_PTR", -38: "CL_INVALID_MEM_OBJECT",
	-57: "CL_INVALID_EVENT_WAIT_LIST", -58: "CL_INVALID_EVENT", -59: "CL_INVALID_OPERATION",
	-61: "CL_INVALID_BUFFER_SIZE", platformNotFound: "CL_PLATFORM_NOT_FOUND_KHR",
}
