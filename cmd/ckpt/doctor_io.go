package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ckpt/internal/fs"
	"ckpt/internal/ui"
	"ckpt/loader"
)

// readFacts is how files of a directory would be read by a load.
type readFacts struct {
	Engine  string   `json:"engine"`  // that auto takes
	Reasons []string `json:"reasons"` // every choice in a line
	Fixed   bool     `json:"fixed_buffers"`
	Pages   string   `json:"staging_pages"` // of staging memory
	Huge    string   `json:"staging_reason,omitempty"`

	Drive *driveFacts `json:"drive"` // null where there is none
	// Direct says whether a file was read around the page cache; null where
	// there is none to try.
	Direct *bool  `json:"direct"`
	Align  int    `json:"direct_alignment,omitzero"`
	File   string `json:"direct_file,omitempty"`
	Why    string `json:"direct_reason,omitempty"`
}

type driveFacts struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Model      string   `json:"model"`
	Bytes      int64    `json:"bytes"`
	Rotational bool     `json:"rotational"`
	Members    []string `json:"members,omitempty"`
}

// doctorStaging is what an attempt takes, in bytes: enough for one huge page.
const doctorStaging = 4 << 20

// examineReads tries what a load would do, with little memory; nothing is
// written.
func examineReads(dir string) (*readFacts, error) {
	f := &readFacts{Reasons: []string{}}
	if d, err := fs.DriveOf(dir); err == nil {
		f.Drive = &driveFacts{d.Name, d.Kind, d.Model, d.Bytes, d.Rotational, d.Members}
	}
	f.direct(dir)
	return f, f.engine()
}

// engine makes the engine that auto takes, on a thread of its own.
func (f *readFacts) engine() (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	staging, err := loader.NewStaging(doctorStaging, doctorStaging/4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, staging.Close()) }()
	f.Pages, f.Huge = staging.Kind(), staging.Reason()
	e, info, err := loader.NewEngine("auto", loader.EngineOptions{Depth: 2, Staging: staging})
	if err != nil {
		return err
	}
	f.Engine, f.Fixed = info.Name, info.Fixed
	f.Reasons = append(f.Reasons, info.Ladder...)
	return e.Close()
}

// direct opens the largest file of the directory as a load would.
func (f *readFacts) direct(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	name, size := "", int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > size {
			name, size = e.Name(), info.Size()
		}
	}
	if name == "" {
		return
	}
	file, err := loader.OpenFile(filepath.Join(dir, name), name, true)
	if err != nil {
		return
	}
	f.File, f.Direct, f.Why = name, &file.Direct, file.Reason
	if file.Direct {
		f.Align = file.Align
	}
	_ = file.Close() // nothing was written
}

func (f *readFacts) print(row func(name, text string), style ui.Style) {
	if f.Engine != "" {
		row("engine", ui.Escape(strings.Join(f.Reasons, "; ")))
		text := f.Pages + " pages"
		if f.Huge != "" {
			text += ": " + f.Huge
		}
		row("staging", ui.Escape(text))
	}
	if d := f.Drive; d != nil {
		text := fmt.Sprintf("%s %s, %s", d.Name, bracketed(d.Kind, d.Model), ui.GB(d.Bytes))
		if len(d.Members) > 0 {
			text += " of " + strings.Join(d.Members, ", ")
		}
		row("drive", ui.Escape(strings.Replace(text, "  ", " ", 1)))
	}
	switch {
	case f.Direct == nil:
		row("direct reads", style.Dim("not tried: there is no file in the directory"))
	case *f.Direct:
		row("direct reads", fmt.Sprintf("yes, aligned to %s", ui.Plural(f.Align, "byte")))
	default:
		row("direct reads", ui.Escape("no: "+f.Why))
	}
}
