// Package cuda binds the driver API of CUDA: [Open] loads the driver's library
// and initialises it.
//
// # Layout
//
// A device is used through its primary context, which costs some 500 MB of it:
// [Runtime.Devices] makes none, [Runtime.Open] one. Contexts belong to threads,
// so every call selects its own. Buffers are made with the virtual memory
// management where the device has it, for such memory can be given to another
// process as a file descriptor and outlives this one; else with cuMemAlloc.
//
// # Limits
//
// It has never run on its hardware. Signatures and constants are those of cuda.h
// 12.9; the tests run against a library that imitates them.
//
// # Concurrency
//
// As package device says.
package cuda

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// names of the driver's library, by system.
var names = map[string][]string{
	"linux":   {"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"},
	"windows": {"nvcuda.dll"},
}

type api struct {
	init, driverVersion                                  dl.Proc
	deviceCount, deviceGet, deviceName, deviceTotal      dl.Proc
	deviceAttribute, deviceBus                           dl.Proc
	retain, release, setCurrent                          dl.Proc
	memInfo, memAlloc, memFree, hostRegister, hostForget dl.Proc
	toDevice, toHost, rect                               dl.Proc
	streamCreate, streamDestroy, streamWait              dl.Proc
	eventCreate, eventDestroy, eventRecord, eventQuery   dl.Proc
	errorName, errorText                                 dl.Proc
	ipcGet, ipcOpen, ipcClose                            dl.Proc

	vmm vmm
}

// vmm are the functions of the virtual memory management; drivers before 10.2
// have none.
type vmm struct {
	granularity, create, release, reserve, free, mapIt, unmap, access, export, importFD dl.Proc
}

func bind(lib *dl.Library) (*api, error) {
	a := new(api)
	err := lib.Bind([]dl.Symbol{
		{Name: "cuInit", Proc: &a.init},
		{Name: "cuDriverGetVersion", Proc: &a.driverVersion},
		{Name: "cuDeviceGetCount", Proc: &a.deviceCount},
		{Name: "cuDeviceGet", Proc: &a.deviceGet},
		{Name: "cuDeviceGetName", Proc: &a.deviceName},
		{Name: "cuDeviceTotalMem_v2", Proc: &a.deviceTotal},
		{Name: "cuDeviceGetAttribute", Proc: &a.deviceAttribute},
		{Name: "cuDeviceGetPCIBusId", Proc: &a.deviceBus},
		{Name: "cuDevicePrimaryCtxRetain", Proc: &a.retain},
		{Name: "cuDevicePrimaryCtxRelease_v2", Proc: &a.release},
		{Name: "cuCtxSetCurrent", Proc: &a.setCurrent},
		{Name: "cuMemGetInfo_v2", Proc: &a.memInfo},
		{Name: "cuMemAlloc_v2", Proc: &a.memAlloc},
		{Name: "cuMemFree_v2", Proc: &a.memFree},
		{Name: "cuMemHostRegister_v2", Proc: &a.hostRegister},
		{Name: "cuMemHostUnregister", Proc: &a.hostForget},
		{Name: "cuMemcpyHtoDAsync_v2", Proc: &a.toDevice},
		{Name: "cuMemcpyDtoHAsync_v2", Proc: &a.toHost},
		{Name: "cuMemcpy2DAsync_v2", Proc: &a.rect},
		{Name: "cuStreamCreate", Proc: &a.streamCreate},
		{Name: "cuStreamDestroy_v2", Proc: &a.streamDestroy},
		{Name: "cuStreamSynchronize", Proc: &a.streamWait},
		{Name: "cuEventCreate", Proc: &a.eventCreate},
		{Name: "cuEventDestroy_v2", Proc: &a.eventDestroy},
		{Name: "cuEventRecord", Proc: &a.eventRecord},
		{Name: "cuEventQuery", Proc: &a.eventQuery},
		{Name: "cuGetErrorName", Proc: &a.errorName},
		{Name: "cuGetErrorString", Proc: &a.errorText},
		{Name: "cuIpcGetMemHandle", Proc: &a.ipcGet},
		{Name: "cuIpcOpenMemHandle_v2", Proc: &a.ipcOpen},
		{Name: "cuIpcCloseMemHandle", Proc: &a.ipcClose},
	})
	if err != nil {
		return nil, err
	}
	v := vmm{}
	if lib.Bind([]dl.Symbol{
		{Name: "cuMemGetAllocationGranularity", Proc: &v.granularity},
		{Name: "cuMemCreate", Proc: &v.create},
		{Name: "cuMemRelease", Proc: &v.release},
		{Name: "cuMemAddressReserve", Proc: &v.reserve},
		{Name: "cuMemAddressFree", Proc: &v.free},
		{Name: "cuMemMap", Proc: &v.mapIt},
		{Name: "cuMemUnmap", Proc: &v.unmap},
		{Name: "cuMemSetAccess", Proc: &v.access},
		{Name: "cuMemExportToShareableHandle", Proc: &v.export},
		{Name: "cuMemImportFromShareableHandle", Proc: &v.importFD},
	}) == nil {
		a.vmm = v
	}
	return a, nil
}

// Runtime is the driver.
type Runtime struct {
	api     *api
	library string
	version string
	devices []entry
	pins    device.Pins
}

type entry struct {
	id      int32
	info    device.Info
	virtual bool // has the virtual memory management
	posix   bool // whose memory can be exported as a file descriptor
}

var open = sync.OnceValues(func() (*Runtime, error) { return Load(names[runtime.GOOS]...) })

// Open loads the system's driver, once.
func Open() (device.Runtime, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Load takes the first library of some that is there.
func Load(names ...string) (*Runtime, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no CUDA for %s: %w", runtime.GOOS, device.ErrNoDevice)
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, err
	}
	a, err := bind(lib)
	if err != nil {
		return nil, err
	}
	r := &Runtime{api: a, library: lib.Name()}
	if err := a.check("cuInit", a.init.Call(0)); err != nil {
		return nil, err
	}
	var version int32
	if err := a.check("cuDriverGetVersion", a.driverVersion.Call(uintptr(unsafe.Pointer(&version)))); err != nil {
		return nil, err
	}
	r.version = fmt.Sprintf("CUDA %d.%d", version/1000, version%1000/10)
	var n int32
	if err := a.check("cuDeviceGetCount", a.deviceCount.Call(uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, fmt.Errorf("%s: %w", r.library, device.ErrNoDevice)
	}
	for i := range n {
		e, err := a.describe(i)
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
		r.devices = append(r.devices, e)
	}
	return r, nil
}

// Kind is "cuda".
func (r *Runtime) Kind() string { return "cuda" }

// Library is the name that was found.
func (r *Runtime) Library() string { return r.library }

// Version is the newest CUDA that the driver knows.
func (r *Runtime) Version() string { return r.version }

// Devices lists the devices, in the driver's order. It makes no context.
func (r *Runtime) Devices() []device.Info {
	infos := make([]device.Info, len(r.devices))
	for i, d := range r.devices {
		infos[i] = d.info
	}
	return infos
}

func (a *api) describe(ordinal int32) (entry, error) {
	var e entry
	if err := a.check("cuDeviceGet", a.deviceGet.Call(uintptr(unsafe.Pointer(&e.id)), uintptr(ordinal))); err != nil {
		return e, err
	}
	id := uintptr(e.id)
	name := make([]byte, 256)
	if err := a.check("cuDeviceGetName", a.deviceName.Call(uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), id)); err != nil {
		return e, err
	}
	e.info.Name = cut(name)
	var total uintptr
	if err := a.check("cuDeviceTotalMem", a.deviceTotal.Call(uintptr(unsafe.Pointer(&total)), id)); err != nil {
		return e, err
	}
	e.info.Memory = int64(total)
	bus := make([]byte, 32)
	if a.deviceBus.Call(uintptr(unsafe.Pointer(&bus[0])), uintptr(len(bus)), id) == 0 {
		e.info.Detail = cut(bus) + ", "
	}
	e.info.Detail += fmt.Sprintf("compute capability %d.%d",
		a.attribute(attributeMajor, e.id), a.attribute(attributeMinor, e.id))
	e.virtual = a.vmm.create != 0 && a.attribute(attributeVirtual, e.id) == 1
	e.posix = e.virtual && runtime.GOOS == "linux" && a.attribute(attributePosix, e.id) == 1
	return e, nil
}

// attribute is a number of a device, 0 where the driver does not know it.
func (a *api) attribute(what uintptr, id int32) int32 {
	var n int32
	if a.deviceAttribute.Call(uintptr(unsafe.Pointer(&n)), what, uintptr(id)) != 0 {
		return 0
	}
	return n
}

func cut(text []byte) string {
	s, _, _ := strings.Cut(string(text), "\x00")
	return s
}
