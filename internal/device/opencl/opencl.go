// Package opencl binds OpenCL: [Open] loads the system's OpenCL library and asks
// all its platforms for devices.
//
// # Limits
//
// A device may allocate less at once than it has in all; a buffer is made of as
// many pieces as that takes, and copies are cut where they meet. Memory of the
// host cannot be pinned, and buffers cannot be given to other processes: OpenCL
// has no portable call for either.
//
// Everything was run on PoCL, OpenCL on processors. It has never run on a GPU.
//
// # Concurrency
//
// As package device says. OpenCL itself allows all calls from all threads.
//
// Specification: The OpenCL C API, version 1.2, Khronos.
package opencl

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// names of the library, by system.
var names = map[string][]string{
	"linux":   {"libOpenCL.so.1", "libOpenCL.so"},
	"darwin":  {"/System/Library/Frameworks/OpenCL.framework/OpenCL"},
	"windows": {"OpenCL.dll"},
}

type api struct {
	getPlatformIDs, getPlatformInfo, getDeviceIDs, getDeviceInfo dl.Proc
	createContext, releaseContext, createQueue, releaseQueue     dl.Proc
	createBuffer, releaseMem                                     dl.Proc
	enqueueWrite, enqueueWriteRect, enqueueRead, enqueueFill     dl.Proc
	enqueueMarker, flush, finish, getEventInfo, releaseEvt       dl.Proc
}

func bind(lib *dl.Library) (*api, error) {
	a := new(api)
	return a, lib.Bind([]dl.Symbol{
		{Name: "clGetPlatformIDs", Proc: &a.getPlatformIDs},
		{Name: "clGetPlatformInfo", Proc: &a.getPlatformInfo},
		{Name: "clGetDeviceIDs", Proc: &a.getDeviceIDs},
		{Name: "clGetDeviceInfo", Proc: &a.getDeviceInfo},
		{Name: "clCreateContext", Proc: &a.createContext},
		{Name: "clReleaseContext", Proc: &a.releaseContext},
		{Name: "clCreateCommandQueue", Proc: &a.createQueue},
		{Name: "clReleaseCommandQueue", Proc: &a.releaseQueue},
		{Name: "clCreateBuffer", Proc: &a.createBuffer},
		{Name: "clReleaseMemObject", Proc: &a.releaseMem},
		{Name: "clEnqueueWriteBuffer", Proc: &a.enqueueWrite},
		{Name: "clEnqueueWriteBufferRect", Proc: &a.enqueueWriteRect},
		{Name: "clEnqueueReadBuffer", Proc: &a.enqueueRead},
		{Name: "clEnqueueFillBuffer", Proc: &a.enqueueFill},
		{Name: "clEnqueueMarkerWithWaitList", Proc: &a.enqueueMarker},
		{Name: "clFlush", Proc: &a.flush},
		{Name: "clFinish", Proc: &a.finish},
		{Name: "clGetEventInfo", Proc: &a.getEventInfo},
		{Name: "clReleaseEvent", Proc: &a.releaseEvt},
	})
}

// Runtime is the library with the devices of all its platforms.
type Runtime struct {
	api     *api
	library string
	version string
	devices []entry
}

type entry struct {
	platform, id uintptr
	info         device.Info
	most         int64 // bytes of one allocation
	free         bool  // the device says how much memory is free
}

var open = sync.OnceValues(func() (*Runtime, error) { return Load(names[runtime.GOOS]...) })

// Open loads the system's library, once.
func Open() (device.Runtime, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Load takes the first library of some that is there.
func Load(names ...string) (*Runtime, error) {
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, err
	}
	a, err := bind(lib)
	if err != nil {
		return nil, err
	}
	r := &Runtime{api: a, library: lib.Name()}
	platforms, err := a.platforms()
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, p := range platforms {
		name := a.platformText(p, platformName)
		versions = append(versions, strings.TrimSpace(name+" "+a.platformText(p, platformVersion)))
		ids, err := a.deviceIDs(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, id := range ids {
			r.devices = append(r.devices, a.describe(p, id, name))
		}
	}
	r.version = strings.Join(versions, ", ")
	if len(r.devices) == 0 {
		return nil, fmt.Errorf("%s: %d platforms, %w", r.library, len(platforms), device.ErrNoDevice)
	}
	return r, nil
}

// Kind is "opencl".
func (r *Runtime) Kind() string { return "opencl" }

// Library is the name that was found.
func (r *Runtime) Library() string { return r.library }

// Version is the names and versions of the platforms.
func (r *Runtime) Version() string { return r.version }

// Devices lists the devices of all platforms.
func (r *Runtime) Devices() []device.Info {
	infos := make([]device.Info, len(r.devices))
	for i, d := range r.devices {
		infos[i] = d.info
	}
	return infos
}

// The library answers so where no platform is installed (cl_khr_icd).
const platformNotFound = -1001

func (a *api) platforms() ([]uintptr, error) {
	var n uint32
	code := int32(a.getPlatformIDs.Call(0, 0, uintptr(unsafe.Pointer(&n))))
	if code == platformNotFound || code == 0 && n == 0 {
		return nil, fmt.Errorf("no platform is installed: %w", device.ErrNoDevice)
	}
	if err := check("clGetPlatformIDs", code); err != nil {
		return nil, err
	}
	ids := make([]uintptr, n)
	err := check("clGetPlatformIDs", int32(a.getPlatformIDs.Call(uintptr(n), uintptr(unsafe.Pointer(&ids[0])), 0)))
	return ids, err
}

func (a *api) deviceIDs(platform uintptr) ([]uintptr, error) {
	var n uint32
	code := int32(a.getDeviceIDs.Call(platform, deviceTypeAll, 0, 0, uintptr(unsafe.Pointer(&n))))
	if code == deviceNotFound || code == 0 && n == 0 {
		return nil, nil
	}
	if err := check("clGetDeviceIDs", code); err != nil {
		return nil, err
	}
	ids := make([]uintptr, n)
	code = int32(a.getDeviceIDs.Call(platform, deviceTypeAll, uintptr(n), uintptr(unsafe.Pointer(&ids[0])), 0))
	return ids, check("clGetDeviceIDs", code)
}

func (a *api) describe(platform, id uintptr, name string) entry {
	kind := a.deviceNumber(id, deviceType)
	e := entry{
		platform: platform, id: id,
		info: device.Info{
			Name:   a.deviceText(id, deviceName),
			Memory: int64(a.deviceNumber(id, deviceGlobalMem)),
			Detail: strings.TrimSpace(name + ", driver " + a.deviceText(id, driverVersion)),
			Host:   kind&deviceTypeCPU != 0 || a.deviceNumber(id, deviceHostUnified) != 0,
		},
		most: int64(a.deviceNumber(id, deviceMaxAlloc)),
		free: slices.Contains(strings.Fields(a.deviceText(id, deviceExtensions)), "cl_amd_device_attribute_query"),
	}
	return e
}

// deviceNumber asks for a cl_ulong, a bit field or a cl_bool; 0 where the device does not
// say.
func (a *api) deviceNumber(id uintptr, what uintptr) uint64 {
	var n uint64
	if a.getDeviceInfo.Call(id, what, unsafe.Sizeof(n), uintptr(unsafe.Pointer(&n)), 0) != 0 {
		return 0
	}
	return n
}

func (a *api) deviceText(id, what uintptr) string { return text(a.getDeviceInfo, id, what) }

func (a *api) platformText(id, what uintptr) string { return text(a.getPlatformInfo, id, what) }

func text(ask dl.Proc, id, what uintptr) string {
	var size uintptr
	if ask.Call(id, what, 0, 0, uintptr(unsafe.Pointer(&size))) != 0 || size == 0 {
		return ""
	}
	b := make([]byte, size)
	if ask.Call(id, what, size, uintptr(unsafe.Pointer(&b[0])), 0) != 0 {
		return ""
	}
	s, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimSpace(s)
}
