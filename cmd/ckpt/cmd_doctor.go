package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/internal/fs"
	"ckpt/internal/ui"
)

type doctorOptions struct {
	dir  string
	json bool
}

func (o *doctorOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.dir, "dir", ".", "describe the file system of this `directory`")
	fs.BoolVar(&o.json, "json", false, "print one JSON document (ckpt.doctor/v1)")
}

func newDoctor(std streams) *cobra.Command {
	var opts doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "say what this machine offers",
		Long: `Say what this machine offers to a program that reads very large files: the
processor and its vector extensions, memory and what limits it, the limits of the
process, the file system of a directory and how its files would be read, and the
runtimes of devices (CUDA, HIP, OpenCL) with what they find, or why they find
nothing. Nothing is written.`,
		GroupID: groupOther,
		Args:    func(_ *cobra.Command, args []string) error { return want("doctor", args) },
		Example: `  ckpt doctor
  ckpt doctor --dir /raid/weights`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage)},
		RunE:        func(*cobra.Command, []string) error { return runDoctor(opts, std) },
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runDoctor(opts doctorOptions, std streams) error {
	if _, err := os.Stat(opts.dir); err != nil {
		return err
	}
	facts := examine(opts.dir)
	if opts.json {
		return writeJSON(std.out, facts)
	}
	w := bufio.NewWriter(std.out)
	facts.print(w, std.style())
	return w.Flush()
}

// facts are what is known of the machine; a pointer is nil where it is not.
type facts struct {
	Schema   string      `json:"schema"`
	OS       string      `json:"os"`
	Arch     string      `json:"arch"`
	Kernel   string      `json:"kernel"`
	CPU      string      `json:"cpu"`
	CPUs     int         `json:"cpus"`
	CPUQuota float64     `json:"cpu_quota"` // 0 is none
	Features []string    `json:"features"`
	Memory   *memory     `json:"memory"`
	Limits   limits      `json:"limits"`
	Volume   *volume     `json:"file_system"`
	Missing  []unknownAs `json:"unknown"`

	Reads    *readFacts     `json:"reads"`
	Runtimes []runtimeFacts `json:"runtimes"`
}

type memory struct {
	Total     int64  `json:"total"`
	Available int64  `json:"available"`
	Limit     *int64 `json:"limit"` // of the control groups
	LimitFrom string `json:"limit_from"`
	Usable    int64  `json:"usable"`
}

type limits struct {
	OpenFiles *uint64 `json:"open_files"` // null is none or not known
	Memlock   *uint64 `json:"memlock"`    // bytes
}

type volume struct {
	Dir      string `json:"dir"`
	Type     string `json:"type"`
	ReadOnly bool   `json:"read_only"`
	Total    int64  `json:"total"`
	Free     int64  `json:"free"`
	Block    int64  `json:"block"`
}

// unknownAs is a question without an answer, with the reason.
type unknownAs struct {
	Fact   string `json:"fact"`
	Reason string `json:"reason"`
}

func examine(dir string) *facts {
	h := fs.ReadHost()
	f := &facts{
		Schema: "ckpt.doctor/v1", OS: h.OS, Arch: h.Arch, Kernel: h.Kernel,
		CPU: h.CPU, CPUs: h.CPUs, CPUQuota: h.Quota, Features: append([]string{}, h.Features...),
		Missing: []unknownAs{}, Runtimes: examineDevices(),
	}
	if m, err := fs.ReadMemory(); err != nil {
		f.miss("memory", err)
	} else {
		f.Memory = &memory{Total: m.Total, Available: m.Available, LimitFrom: m.LimitFrom, Usable: m.Usable()}
		if m.Limit > 0 {
			f.Memory.Limit = &m.Limit
		}
	}
	f.Limits.OpenFiles = f.limit("open files", fs.OpenFiles)
	f.Limits.Memlock = f.limit("memlock", fs.Memlock)
	if v, err := fs.Stat(dir); err != nil {
		f.miss("file system", err)
	} else {
		f.Volume = &volume{dir, v.Type, v.ReadOnly, v.Total, v.Free, v.Block}
	}
	var err error
	if f.Reads, err = examineReads(dir); err != nil {
		f.miss("engine", err)
	}
	return f
}

func (f *facts) limit(fact string, read func() (fs.Limit, error)) *uint64 {
	l, err := read()
	if err != nil {
		f.miss(fact, err)
		return nil
	}
	if l.Soft == fs.Unlimited {
		return nil
	}
	return &l.Soft
}

func (f *facts) miss(fact string, err error) {
	reason := err.Error()
	var unsupported *fs.UnsupportedError
	if errors.As(err, &unsupported) {
		reason = unsupported.Reason
	}
	f.Missing = append(f.Missing, unknownAs{fact, reason})
}

func (f *facts) print(w io.Writer, style ui.Style) {
	var t ui.Table
	row := func(name, text string) { t.Row(style.Bold(name), text) }
	row("system", strings.TrimSpace(f.OS+"/"+f.Arch+" "+f.Kernel))
	row("processors", f.processors())
	if len(f.Features) > 0 {
		row("features", strings.Join(f.Features, " "))
	}
	if m := f.Memory; m != nil {
		row("memory", fmt.Sprintf("%s, %s available", ui.GiB(m.Total), ui.GiB(m.Available)))
		if m.Limit != nil {
			row("memory limit", fmt.Sprintf("%s (%s)", ui.GiB(*m.Limit), shown(m.LimitFrom)))
		}
	}
	if !f.missing("open files") {
		row("open files", limitText(f.Limits.OpenFiles, func(n uint64) string { return ui.Count(n) }))
	}
	if !f.missing("memlock") {
		row("pinned memory", limitText(f.Limits.Memlock, func(n uint64) string { return ui.GiB(int64(n)) }))
	}
	if v := f.Volume; v != nil {
		text := fmt.Sprintf("%s on %s, %s free of %s", v.Type, shown(v.Dir), ui.GB(v.Free), ui.GB(v.Total))
		if v.ReadOnly {
			text += ", read-only"
		}
		row("file system", text)
	}
	f.Reads.print(row, style)
	printDevices(f.Runtimes, row, style)
	for _, u := range f.Missing {
		row(u.Fact, style.Dim("not known: "+u.Reason))
	}
	t.Write(w) // the error stays in the buffer
}

func (f *facts) processors() string {
	text := ui.Count(f.CPUs)
	if f.CPU != "" {
		text += " × " + ui.Escape(f.CPU)
	}
	if f.CPUQuota > 0 {
		text += fmt.Sprintf(", limited to %.3g by control groups", f.CPUQuota)
	}
	return text
}

func (f *facts) missing(fact string) bool {
	for _, u := range f.Missing {
		if u.Fact == fact {
			return true
		}
	}
	return false
}

func limitText(n *uint64, text func(uint64) string) string {
	if n == nil {
		return "unlimited"
	}
	return text(*n)
}
