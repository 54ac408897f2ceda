package loader

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// BenchmarkEngines reads the file that CKPT_BENCH_FILE names, to be compared with
//
//	fio --rw=read --bs=4m --direct=1 --ioengine=io_uring --iomem=mmaphuge
//
// on the same file at the same depth, in the same minute: drives shared with
// others change from one to the next.
func BenchmarkEngines(b *testing.B) {
	path := os.Getenv("CKPT_BENCH_FILE")
	if path == "" {
		b.Skip("CKPT_BENCH_FILE names no file")
	}
	for _, kind := range []string{"uring", "pread"} {
		for _, depth := range []int{4, 16} {
			b.Run(fmt.Sprintf("%s/depth=%d", kind, depth), func(b *testing.B) { benchEngine(b, kind, path, depth) })
		}
	}
}

func benchEngine(b *testing.B, kind, path string, depth int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f, err := OpenFile(path, path, true)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s, err := NewStaging(int64(depth)*DefaultBlock, DefaultBlock)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	e, info, err := NewEngine(kind, EngineOptions{Depth: depth, Staging: s})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	b.Logf("direct %v, alignment %d %s; pages %s; %v", f.Direct, f.Align, f.Reason, s.Kind(), info.Ladder)
	b.SetBytes(f.Size)
	cpu, start := usage(), time.Now()
	for b.Loop() {
		readThrough(b, e, f, s)
	}
	gb := float64(f.Size) * float64(b.N) / 1e9
	b.ReportMetric(gb/time.Since(start).Seconds(), "GB/s")
	now := usage()
	b.ReportMetric((now.user+now.system-cpu.user-cpu.system)/gb, "cpu-s/GB")
}

// readThrough reads a file once, with all slots in flight.
func readThrough(b *testing.B, e Engine, f *File, s *Staging) {
	var next int64
	submit := func(slot uint64) bool {
		if next >= f.Size {
			return false
		}
		r := Request{File: f, Offset: next, Buf: s.Slot(int(slot)), Need: int(min(s.Block(), f.Size-next)), Tag: slot}
		if err := e.Submit(r); err != nil {
			b.Fatal(err)
		}
		next += s.Block()
		return true
	}
	flying := 0
	for slot := range s.Slots() {
		if submit(uint64(slot)) {
			flying++
		}
	}
	done := make([]Completion, s.Slots())
	for flying > 0 {
		n, err := e.Wait(done)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range done[:n] {
			if c.Err != nil {
				b.Fatal(c.Err)
			}
			if !submit(c.Tag) {
				flying--
			}
		}
	}
}
