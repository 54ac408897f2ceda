package loader

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ckpt/internal/device"
	"ckpt/internal/device/cuda"
	"ckpt/internal/device/hip"
	"ckpt/internal/device/opencl"
)

// A binding of a runtime, in the order in which auto tries them.
type binding struct {
	kind string
	open func() (device.Runtime, error)
	// auto is whether a device of it is taken without being asked for.
	auto bool
	// untested says what it was never run on.
	untested string
}

func runtimes() []binding {
	return []binding{
		{"cuda", cuda.Open, true, "never run on its hardware"},
		{"hip", hip.Open, true, "never run on its hardware"},
		{"opencl", opencl.Open, false, "run on processors only (PoCL), never on a GPU"},
	}
}

// Untested says what the devices of a kind were never run on; empty where there
// is nothing to say.
func Untested(kind string) string {
	for _, r := range runtimes() {
		if r.kind == kind {
			return r.untested
		}
	}
	return ""
}

// RuntimeInfo is what is known of a runtime on this machine.
type RuntimeInfo struct {
	Kind     string
	Library  string
	Version  string
	Devices  []device.Info
	Auto     bool   // taken without being asked for
	Untested string // what it was never run on
	Err      error  // why it cannot be used; nil where it can
}

// Runtimes asks all runtimes of devices. No memory of a device is taken.
func Runtimes() []RuntimeInfo {
	var infos []RuntimeInfo
	for _, r := range runtimes() {
		info := RuntimeInfo{Kind: r.kind, Auto: r.auto, Untested: r.untested}
		rt, err := r.open()
		if err == nil {
			info.Library, info.Version, info.Devices = rt.Library(), rt.Version(), rt.Devices()
		}
		info.Err = err
		infos = append(infos, info)
	}
	return infos
}

// OpenDevices opens the devices of a name: "null", "host", "cuda", "hip",
// "opencl", one or some of the latter ("cuda:0", "cuda:4,5"), or "auto" (or
// ""): those of CUDA, else of HIP, else the host. The reasons say how it came
// to them, one step each. The error matches ErrUnavailable where what was
// asked for cannot be had.
func OpenDevices(name string) (devices []Device, reasons []string, err error) {
	kind, which, some := strings.Cut(name, ":")
	switch {
	case (name == "" || kind == "auto") && !some:
		return autoDevices()
	case kind == "null" && !some:
		return []Device{NewNull()}, []string{"null: asked for"}, nil
	case kind == "host" && !some:
		return []Device{NewHost()}, []string{"host: asked for"}, nil
	}
	for _, r := range runtimes() {
		if r.kind != kind {
			continue
		}
		indices, err := parseIndices(which, some)
		if err != nil {
			return nil, nil, err
		}
		devices, err := r.devices(indices)
		if err != nil {
			return nil, nil, err
		}
		return devices, []string{r.asked(len(devices))}, nil
	}
	return nil, nil, optionError("there is no device %q: auto, null, host, cuda, hip, opencl, or some of the latter as in cuda:0,1", name)
}

func autoDevices() ([]Device, []string, error) {
	var reasons []string
	for _, r := range runtimes() {
		if !r.auto {
			continue
		}
		devices, err := r.devices(nil)
		if err == nil {
			return devices, append(reasons, r.asked(len(devices))), nil
		}
		reasons = append(reasons, strings.TrimSuffix(err.Error(), ": "+ErrUnavailable.Error()))
	}
	return []Device{NewHost()}, append(reasons, "host: no other device was found"), nil
}

func (r binding) asked(n int) string {
	text := fmt.Sprintf("%s: %d devices", r.kind, n)
	if n == 1 {
		text = r.kind + ": 1 device"
	}
	if r.untested != "" {
		text += "; " + r.untested
	}
	return text
}

// parseIndices reads numbers with commas between them, each at most once.
func parseIndices(text string, some bool) ([]int, error) {
	if !some {
		return nil, nil
	}
	var indices []int
	seen := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		i, err := strconv.ParseUint(part, 10, 16)
		if err != nil || seen[int(i)] {
			return nil, optionError("%q does not number devices, each once", text)
		}
		seen[int(i)] = true
		indices = append(indices, int(i))
	}
	return indices, nil
}

// devices opens some devices of a runtime, all where none are named: all or
// none.
func (r binding) devices(indices []int) ([]Device, error) {
	rt, err := r.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", r.kind, err, ErrUnavailable)
	}
	return openAll(rt, indices)
}

func openAll(rt device.Runtime, indices []int) ([]Device, error) {
	infos := rt.Devices()
	if indices == nil {
		for i := range infos {
			indices = append(indices, i)
		}
	}
	var devices []Device
	for _, i := range indices {
		d, err := openOne(rt, infos, i)
		if err != nil {
			return nil, errors.Join(err, closeDevices(devices))
		}
		devices = append(devices, d)
	}
	return devices, nil
}

func openOne(rt device.Runtime, infos []device.Info, i int) (Device, error) {
	if i >= len(infos) {
		return nil, fmt.Errorf("%s:%d: there are %d devices: %w", rt.Kind(), i, len(infos), ErrUnavailable)
	}
	d, err := rt.Open(i)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w: %w", rt.Kind(), i, memoryError(err), ErrUnavailable)
	}
	rd := &runtimeDevice{Device: d, name: fmt.Sprintf("%s:%d %s", rt.Kind(), i, infos[i].Name), ways: []Way{WayPack, WayRect}}
	if infos[i].Host {
		rd.memory = hostMemory
	}
	return rd, nil
}

func closeDevices(devices []Device) error {
	var errs []error
	for _, d := range devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
