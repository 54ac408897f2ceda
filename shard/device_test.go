package shard

import "testing"

func TestDevices(t *testing.T) {
	for name, want := range map[string]int64{
		"MI300X": 192e9, "mi325x": 256e9, "Mi350X": 288e9, "AMD Instinct MI355X": 288e9, "h100": 80e9, "NVIDIA H100 80GB": 80e9,
		"nvidia-h200": 141e9, "b200": 180e9, "B300": 288e9, "RTX 6000 Ada": 48e9, "rtx6000ada": 48e9, "rtx_6000_ada": 48e9,
		"RX 7900 XTX": 24e9, "7900xtx": 24e9, "Radeon RX 7900 XTX": 24e9, "H100-SXM5-80GB": 80e9, "NVIDIA H100 80GB HBM3": 80e9,
		"B200 192GB": 180e9, "b200-180gb": 180e9, "H200-141GB": 141e9, "MI300X 192 GB OAM": 192e9,
	} {
		if d, ok := DeviceNamed(name); !ok || d.Memory != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, name := range []string{"", "H", "H10", "B", "MI350", "A100", "RTX", "6000", "288gb", "nvidia", "ééé", "H100 NVL", "mi300x 80gb", "H200 80GB", "80gb"} {
		if d, ok := DeviceNamed(name); ok {
			t.Errorf("%q is %s", name, d.Name)
		}
	}
	for _, d := range Devices() {
		if again, ok := DeviceNamed(d.Name); !ok || again != d {
			t.Errorf("%s is not found by its name", d.Name)
		}
		if d.Memory > d.Stated {
			t.Errorf("%+v", d)
		}
	}
}
