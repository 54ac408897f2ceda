// Package hip binds the HIP runtime: [Open] loads libamdhip64 and asks it for
// devices.
//
// # Limits
//
// Without a device the library answers hipErrorNoDevice; nothing beyond that was
// ever run on its hardware. Signatures and constants are those of
// hip_runtime_api.h 5.2, unchanged since.
//
// # Concurrency
//
// As package device says. The runtime keeps a device for each thread, so every
// call selects its own; an error stays until it is asked for, so every failure
// is cleared. Exports are made one by one: the driver mixes concurrent ones up.
package hip

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// names of the library, by system.
var names = map[string][]string{
	"linux": {
		"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
		"/opt/rocm/lib/libamdhip64.so",
	},
	"windows": {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"},
}

type api struct {
	runtimeVersion                                       dl.Proc
	deviceCount, deviceGet, deviceName, deviceTotal      dl.Proc
	deviceBus, setDevice                                 dl.Proc
	memInfo, memAlloc, memFree, hostRegister, hostForget dl.Proc
	toDevice, toHost, rect                               dl.Proc
	streamCreate, streamDestroy, streamWait              dl.Proc
	eventCreate, eventDestroy, eventRecord, eventQuery   dl.Proc
	errorName, errorText, lastError                      dl.Proc
	ipcGet, ipcOpen, ipcClose                            dl.Proc
}

func bind(lib *dl.Library) (*api, error) {
	a := new(api)
	return a, lib.Bind([]dl.Symbol{
		{Name: "hipRuntimeGetVersion", Proc: &a.runtimeVersion},
		{Name: "hipGetDeviceCount", Proc: &a.deviceCount},
		{Name: "hipDeviceGet", Proc: &a.deviceGet},
		{Name: "hipDeviceGetName", Proc: &a.deviceName},
		{Name: "hipDeviceTotalMem", Proc: &a.deviceTotal},
		{Name: "hipDeviceGetPCIBusId", Proc: &a.deviceBus},
		{Name: "hipSetDevice", Proc: &a.setDevice},
		{Name: "hipMemGetInfo", Proc: &a.memInfo},
		{Name: "hipMalloc", Proc: &a.memAlloc},
		{Name: "hipFree", Proc: &a.memFree},
		{Name: "hipHostRegister", Proc: &a.hostRegister},
		{Name: "hipHostUnregister", Proc: &a.hostForget},
		{Name: "hipMemcpyHtoDAsync", Proc: &a.toDevice},
		{Name: "hipMemcpyDtoHAsync", Proc: &a.toHost},
		{Name: "hipMemcpy2DAsync", Proc: &a.rect},
		{Name: "hipStreamCreateWithFlags", Proc: &a.streamCreate},
		{Name: "hipStreamDestroy", Proc: &a.streamDestroy},
		{Name: "hipStreamSynchronize", Proc: &a.streamWait},
		{Name: "hipEventCreateWithFlags", Proc: &a.eventCreate},
		{Name: "hipEventDestroy", Proc: &a.eventDestroy},
		{Name: "hipEventRecord", Proc: &a.eventRecord},
		{Name: "hipEventQuery", Proc: &a.eventQuery},
		{Name: "hipGetErrorName", Proc: &a.errorName},
		{Name: "hipGetErrorString", Proc: &a.errorText},
		{Name: "hipGetLastError", Proc: &a.lastError},
		{Name: "hipIpcGetMemHandle", Proc: &a.ipcGet},
		{Name: "hipIpcOpenMemHandle", Proc: &a.ipcOpen},
		{Name: "hipIpcCloseMemHandle", Proc: &a.ipcClose},
	})
}

// Runtime is the library.
type Runtime struct {
	api     *api
	library string
	version string
	devices []entry
	pins    device.Pins
	exports sync.Mutex
}

type entry struct {
	ordinal int32
	info    device.Info
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
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no HIP for %s: %w", runtime.GOOS, device.ErrNoDevice)
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, err
	}
	a, err := bind(lib)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := &Runtime{api: a, library: lib.Name()}
	// Every call initialises the library. hipInit is not used: where there is no
	// device, some releases answer hipErrorInvalidDevice.
	var n, version int32
	if err := a.check("hipGetDeviceCount", a.deviceCount.Call(uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, fmt.Errorf("%s: %w", r.library, err)
	}
	if n <= 0 {
		return nil, fmt.Errorf("%s: %w", r.library, device.ErrNoDevice)
	}
	if err := a.check("hipRuntimeGetVersion", a.runtimeVersion.Call(uintptr(unsafe.Pointer(&version)))); err != nil {
		return nil, err
	}
	r.version = fmt.Sprintf("HIP %d.%d", version/10_000_000, version%10_000_000/100_000)
	for i := range n {
		e, err := a.describe(i)
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
		r.devices = append(r.devices, e)
	}
	return r, nil
}

// Kind is "hip".
func (r *Runtime) Kind() string { return "hip" }

// Library is the name that was found.
func (r *Runtime) Library() string { return r.library }

// Version is the runtime's own.
func (r *Runtime) Version() string { return r.version }

// Devices lists the devices, in the runtime's order.
func (r *Runtime) Devices() []device.Info {
	infos := make([]device.Info, len(r.devices))
	for i, d := range r.devices {
		infos[i] = d.info
	}
	return infos
}

func (a *api) describe(ordinal int32) (entry, error) {
	e := entry{ordinal: ordinal}
	var id int32 // hipDevice_t
	if err := a.check("hipDeviceGet", a.deviceGet.Call(uintptr(unsafe.Pointer(&id)), uintptr(ordinal))); err != nil {
		return e, err
	}
	name := make([]byte, 256)
	if err := a.check("hipDeviceGetName", a.deviceName.Call(uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(id))); err != nil {
		return e, err
	}
	e.info.Name = cut(name)
	var total uintptr
	if err := a.check("hipDeviceTotalMem", a.deviceTotal.Call(uintptr(unsafe.Pointer(&total)), uintptr(id))); err != nil {
		return e, err
	}
	e.info.Memory = int64(total)
	bus := make([]byte, 32)
	if a.check("hipDeviceGetPCIBusId", a.deviceBus.Call(uintptr(unsafe.Pointer(&bus[0])), uintptr(len(bus)), uintptr(ordinal))) == nil {
		e.info.Detail = cut(bus)
	}
	return e, nil
}

func cut(text []byte) string {
	s, _, _ := strings.Cut(string(text), "\x00")
	return s
}
