package shard

import (
	"slices"
	"strings"
)

// Device is an accelerator as its vendor states it.
type Device struct {
	Name   string
	Memory int64 // bytes that models can use
	Stated int64 // bytes on the data sheet, decimal
}

const gigabyte = 1_000_000_000

// devices are the known accelerators, with the memory of their data sheets.
// Of a B200's 192 GB systems leave 180 to use.
var devices = []Device{
	{"MI300X", 192 * gigabyte, 192 * gigabyte},
	{"MI325X", 256 * gigabyte, 256 * gigabyte},
	{"MI350X", 288 * gigabyte, 288 * gigabyte},
	{"MI355X", 288 * gigabyte, 288 * gigabyte},
	{"H100", 80 * gigabyte, 80 * gigabyte},
	{"H200", 141 * gigabyte, 141 * gigabyte},
	{"B200", 180 * gigabyte, 192 * gigabyte},
	{"B300", 288 * gigabyte, 288 * gigabyte},
	{"RTX-6000-Ada", 48 * gigabyte, 48 * gigabyte},
	{"7900-XTX", 24 * gigabyte, 24 * gigabyte},
}

// Devices lists the known accelerators.
func Devices() []Device { return slices.Clone(devices) }

// DeviceNamed finds an accelerator by name: case, spaces, dashes and what
// vendors put before or behind it do not matter ("AMD Instinct MI350X",
// "nvidia-h100-80gb", "RX 7900 XTX").
func DeviceNamed(name string) (Device, bool) {
	want := deviceKey(name)
	for _, d := range devices {
		if deviceKey(d.Name) == want {
			return d, true
		}
	}
	return Device{}, false
}

// Words around the name of a device that do not tell it from another.
var (
	deviceFirst = []string{"amd", "nvidia", "instinct", "radeon", "geforce", "tesla", "rtx", "rx"}
	deviceLast  = []string{"80gb", "141gb", "192gb", "180gb", "256gb", "288gb", "24gb", "48gb", "hbm3e", "hbm3", "sxm5", "sxm", "nvl", "oam"}
)

func deviceKey(name string) string {
	key := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	for _, word := range deviceFirst {
		key = strings.TrimPrefix(key, word)
	}
	for _, word := range deviceLast {
		key = strings.TrimSuffix(key, word)
	}
	return key
}
