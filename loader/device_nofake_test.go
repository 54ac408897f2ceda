//go:build nogpu || !linux

package loader

func fakeDevices() []deviceUnder { return nil }
