package shard

import (
	"regexp"
	"slices"
	"strconv"
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
// "NVIDIA H100 80GB HBM3", "RX 7900 XTX"). A size in the name has to be that of
// the device; other models of a family ("H100 NVL") are not taken for it.
func DeviceNamed(name string) (Device, bool) {
	want, size := deviceKey(name)
	for _, d := range devices {
		if key, _ := deviceKey(d.Name); key == want && (size == 0 || size*gigabyte == d.Stated || size*gigabyte == d.Memory) {
			return d, true
		}
	}
	return Device{}, false
}

// Words around the name of a device that do not tell it from another.
var (
	deviceFirst = []string{"amd", "nvidia", "instinct", "radeon", "geforce", "tesla", "rtx", "rx"}
	deviceLast  = []string{"hbm3e", "hbm3", "sxm5", "sxm", "oam"}
)

// deviceSize is the memory in a name, in GB.
var deviceSize = regexp.MustCompile(`[^0-9a-z]?([0-9]{2,4}) ?gi?b([^0-9a-z]|$)`)

// deviceKey is what is left of a name, and the memory in it, in GB; 0 where there
// is none.
func deviceKey(name string) (key string, size int64) {
	name = strings.ToLower(name)
	if m := deviceSize.FindStringSubmatchIndex(name); m != nil {
		size, _ = strconv.ParseInt(name[m[2]:m[3]], 10, 64)
		name = name[:m[0]] + " " + name[m[1]:]
	}
	key = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
	for _, word := range deviceFirst {
		key = strings.TrimPrefix(key, word)
	}
	for _, word := range deviceLast {
		key = strings.TrimSuffix(key, word)
	}
	return key, size
}
