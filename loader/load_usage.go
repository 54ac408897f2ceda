package loader

// cpuTime is what the process has used so far.
type cpuTime struct {
	user, system float64 // seconds
	peak         int64   // most resident memory, in bytes; 0 where it is not known
}
