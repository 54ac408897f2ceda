//go:build !unix

package loader

func usage() cpuTime { return cpuTime{} }
