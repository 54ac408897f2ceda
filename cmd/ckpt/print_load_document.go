package main

import (
	"math"
	"runtime"

	"ckpt/checkpoint"
	"ckpt/internal/fio"
	"ckpt/internal/fs"
	"ckpt/loader"
	"ckpt/shard"
)

// loadDocument is what load prints: the result, and what it was measured with.
type loadDocument struct {
	*loader.Result `json:",inline"`
	Command        []string     `json:"command"`
	Version        string       `json:"version"`
	Machine        loadMachine  `json:"machine"`
	Plan           loadPlan     `json:"plan"`
	DeviceReasons  []string     `json:"device_reasons"`
	Compare        *loadCompare `json:"compare,omitzero"`
}

// loadMachine is where it was measured; what is not known is empty.
type loadMachine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"`
	Memory     int64  `json:"memory"`
	FileSystem string `json:"file_system"`
	Drive      string `json:"drive"`
	DriveKind  string `json:"drive_kind"`
	DriveModel string `json:"drive_model"`
}

// loadPlan is what was loaded.
type loadPlan struct {
	File        string       `json:"file,omitempty"` // where it was kept
	Profile     string       `json:"profile"`
	Fingerprint string       `json:"fingerprint"`
	Layout      shard.Layout `json:"layout"`
	ALog        shard.ALog   `json:"a_log"`
	TP          int          `json:"tp"`
	EP          int          `json:"ep"`
	PP          int          `json:"pp"`
	Ranks       int          `json:"ranks"`
}

// loadCompare is a run of fio beside the load.
type loadCompare struct {
	Tool    string  `json:"tool"`
	File    string  `json:"file"`
	Rate    float64 `json:"gb_per_s"`
	Ratio   float64 `json:"ratio"` // of the load to it
	Bytes   int64   `json:"bytes"`
	Jobs    int     `json:"jobs"`
	Engine  string  `json:"ioengine"`
	Pattern string  `json:"rw"`
	Block   string  `json:"bs"`
	Depth   string  `json:"iodepth"`
	Direct  string  `json:"direct"`
	Memory  string  `json:"iomem"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
}

func newLoadDocument(o *loadOptions, p *shard.Plan, c *checkpoint.Checkpoint, r *loader.Result, reasons []string) *loadDocument {
	h := fs.ReadHost()
	doc := &loadDocument{
		Result: r, Command: o.command, Version: version() + " " + runtime.Version(), DeviceReasons: append([]string{}, reasons...),
		Machine: loadMachine{OS: h.OS, Arch: h.Arch, Kernel: h.Kernel, CPU: h.CPU, CPUs: h.CPUs, FileSystem: fs.TypeOf(c.Dir)},
		Plan: loadPlan{
			File: o.planFile, Profile: p.Profile, Fingerprint: p.Source.Fingerprint, Layout: p.Layout, ALog: p.ALog,
			TP: p.TP, EP: p.EP, PP: p.PP, Ranks: len(p.Ranks),
		},
	}
	if m, err := fs.ReadMemory(); err == nil {
		doc.Machine.Memory = m.Total
	}
	if d, err := fs.DriveOf(c.Dir); err == nil {
		doc.Machine.Drive, doc.Machine.DriveKind, doc.Machine.DriveModel = d.Name, d.Kind, d.Model
	}
	if o.fio != nil {
		doc.Compare = compared(o.fio, o.compare, r.Rate)
	}
	return doc
}

func compared(f *fio.Result, file string, rate float64) *loadCompare {
	c := &loadCompare{
		Tool: f.Version, File: file, Rate: f.Rate() / 1e9, Bytes: f.Bytes, Jobs: f.Jobs, Engine: f.Engine, Pattern: f.Pattern,
		Block: f.Block, Depth: f.Depth, Direct: f.Direct, Memory: f.Memory, P50: f.P50, P99: f.P99,
	}
	if ratio := rate / c.Rate; !math.IsInf(ratio, 0) && !math.IsNaN(ratio) {
		c.Ratio = ratio
	}
	return c
}
