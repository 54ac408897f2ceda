package main

import (
	"fmt"
	"strings"

	"ckpt/internal/ui"
	"ckpt/loader"
)

// runtimeFacts is a runtime of devices on this machine.
type runtimeFacts struct {
	Kind    string        `json:"kind"`
	Library string        `json:"library"` // empty where there is none
	Version string        `json:"version"`
	Auto    bool          `json:"auto"`   // taken without being asked for
	Note    string        `json:"note"`   // what it was never run on
	Reason  string        `json:"reason"` // why it cannot be used
	Devices []deviceFacts `json:"devices"`
}

type deviceFacts struct {
	Name   string `json:"name"`
	Memory int64  `json:"memory"`
	Host   bool   `json:"host_memory"`
	Detail string `json:"detail"`
}

// examineDevices asks the runtimes; no memory of a device is taken.
func examineDevices() []runtimeFacts {
	all := []runtimeFacts{}
	for _, r := range loader.Runtimes() {
		f := runtimeFacts{
			Kind: r.Kind, Library: r.Library, Version: r.Version,
			Auto: r.Auto, Note: r.Untested, Devices: []deviceFacts{},
		}
		if r.Err != nil {
			f.Reason = r.Err.Error()
		}
		for _, d := range r.Devices {
			f.Devices = append(f.Devices, deviceFacts{d.Name, d.Memory, d.Host, d.Detail})
		}
		all = append(all, f)
	}
	return all
}

// printDevices gives each runtime a row, and each of its devices one.
func printDevices(all []runtimeFacts, row func(name, text string), style ui.Style) {
	for _, r := range all {
		if r.Reason != "" {
			row(r.Kind, style.Dim("not here: "+ui.Escape(r.Reason)))
			continue
		}
		row(r.Kind, fmt.Sprintf("%s (%s); %s", ui.Escape(r.Version), ui.Escape(r.Library), r.Note))
		for i, d := range r.Devices {
			text := []string{ui.Escape(d.Name), ui.GiB(d.Memory)}
			if d.Host {
				text = append(text, "memory of the host")
			}
			if d.Detail != "" {
				text = append(text, ui.Escape(d.Detail))
			}
			row(fmt.Sprintf("%s:%d", r.Kind, i), strings.Join(text, ", "))
		}
	}
}
