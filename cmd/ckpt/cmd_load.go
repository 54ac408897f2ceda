package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/internal/fio"
	"ckpt/internal/ui"
	"ckpt/loader"
)

type loadOptions struct {
	planning
	planFile string
	ranks    string

	device, engine          string
	block, inflight, pinned string
	buffered                bool

	verify   string
	sha256   bool
	manifest string
	record   string

	runs    int
	cold    bool
	compare string
	explain bool
	hold    string
	json    bool

	set     map[string]bool
	command []string // as it can be given again
	echoes  []string // how sizes were read
	load    loader.Options
	fio     *fio.Result
}

func (o *loadOptions) addFlags(fs *pflag.FlagSet) {
	o.planning.addFlags(fs, "workers that read headers, copy and hash")
	fs.StringVar(&o.planFile, "plan", "", "carry out the plan in `FILE`, if it is fresh")
	fs.StringVar(&o.ranks, "ranks", "", "load these `ranks` alone: 3, 0-3, 0,4; what none of them needs is not read (default: all)")
	fs.StringVar(&o.device, "device", "auto", "load to this `device`: auto (cuda or hip where there is one, else host), null (counts and forgets), host, opencl, cuda, hip, or some of these: cuda:0,1")
	fs.StringVar(&o.engine, "io", "auto", "read with this `engine`: auto, uring, pread")
	fs.StringVar(&o.block, "block", "", "most that one request reads, a `size` (default 4MiB)")
	fs.StringVar(&o.inflight, "inflight", "", "most that is being read at once, a `size` (default: as much as makes it faster)")
	fs.StringVar(&o.pinned, "pinned", "", "most staging memory, a `size` (default 512MiB)")
	fs.BoolVar(&o.buffered, "buffered", false, "read through the page cache, even where direct reads are possible")
	fs.StringVar(&o.verify, "verify", "", "check this `much`: none, source (hashes of what is read) or device (what lies in the arenas against the files) (default: source; none with --device null)")
	fs.BoolVar(&o.sha256, "sha256", false, "hash whole files by SHA-256 too, and compare with the release's list where the profile has one")
	fs.StringVar(&o.manifest, "manifest", "", "compare the hashes with those of `FILE`")
	fs.StringVar(&o.record, "record", "", "write the hashes to a new `FILE`, for --manifest")
	fs.IntVar(&o.runs, "runs", 1, "load `N` times, and measure what could be had at most in the same run")
	fs.BoolVar(&o.cold, "cold", false, "drop the files from the page cache before each run, and prove it")
	fs.StringVar(&o.compare, "compare", "", "set the result beside that of fio, its JSON in `FILE`")
	fs.BoolVar(&o.explain, "explain", false, "print every choice that was made, and why")
	fs.StringVar(&o.hold, "hold", "", "keep the arenas and hand them to other processes at this `SOCKET`, until a signal ends it")
	fs.BoolVar(&o.json, "json", false, "print one JSON document (ckpt.load/v1)")
}

func newLoad(g *globals, std streams) *cobra.Command {
	var opts loadOptions
	cmd := &cobra.Command{
		Use:   "load PATH",
		Short: "stream a checkpoint into the memory of devices, verified",
		Long: `Stream a checkpoint into the memory of devices: every wanted byte is read once, in
the order of the files, and scattered to the arenas of its ranks by a proven plan.
What is read is hashed meanwhile; a load that fails its verification, or whose files
changed, is a failed load, and nothing of it is handed over.

The report says what was measured and how: bytes that storage gave, where the time
went, what the reader waited for. With --runs the ceilings are measured too, in the
same run on the same files. --compare sets fio beside it.

With --hold the arenas stay, and any process of the same user maps them without a
copy; docs/handoff.md says how, package loader/client and examples/attach.py do it.
` + untestedDevices(),
		GroupID: groupLoad,
		Example: `  ckpt load --tp 8 /raid/weights/kimi-k3
  ckpt load --tp 8 --device null --runs 3 --cold --compare fio.json DIR
  ckpt load --plan k3-tp8.json.zst --ranks 0-3 --record k3.hashes DIR
  ckpt load --tp 2 --device host --hold /run/user/1000/k3.sock DIR
  ckpt load --tp 8 --device null --json DIR | jq .stalls`,
		Annotations: map[string]string{exitStatus: loadStatuses},
		Args:        func(_ *cobra.Command, args []string) error { return want("load", opts.join(args), "PATH") },
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.set = map[string]bool{}
			opts.command = []string{"ckpt", "load"}
			cmd.Flags().Visit(func(f *pflag.Flag) {
				opts.set[f.Name] = true
				if f.Name != "path" {
					opts.command = append(opts.command, flagWords(f)...)
				}
			})
			path := opts.join(args)[0]
			opts.command = append(opts.command, path)
			if err := opts.check(); err != nil {
				return err
			}
			return runLoad(cmd.Context(), g, &opts, path, std)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

// flagWords gives a flag as it can be typed.
func flagWords(f *pflag.Flag) (words []string) {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		for _, v := range list.GetSlice() {
			words = append(words, "--"+f.Name, v)
		}
		return words
	}
	switch v := f.Value.String(); {
	case f.Value.Type() != "bool":
		return []string{"--" + f.Name, v}
	case v == "true":
		return []string{"--" + f.Name}
	default:
		return []string{"--" + f.Name + "=" + v}
	}
}

const loadStatuses = `  0    loaded; with --hold: held until a signal ended it
  1    could not do it: an unreadable checkpoint, a file that changed, a device
       or engine that is not there, a socket that another process has
  2    usage
  3    verification failed, a stale plan, a degree that cannot be split; nothing
       is handed over
  4    the arenas do not fit into memory; nothing was read
  130  interrupted`

// check reads the values of the flags.
func (o *loadOptions) check() (err error) {
	if o.set["plan"] {
		for _, f := range planFlags {
			if f == "profile" { // with which it is planned again
				continue
			}
			if err := exclusive(o.set, "plan", f); err != nil {
				return err
			}
		}
	}
	for _, f := range []struct{ name, value string }{
		{"plan", o.planFile}, {"manifest", o.manifest}, {"record", o.record}, {"compare", o.compare}, {"hold", o.hold},
	} {
		if o.set[f.name] && f.value == "" {
			return usagef("--%s: the name of the file is empty", f.name)
		}
	}
	for _, f := range []struct{ name, value string }{{"ranks", o.ranks}, {"device", o.device}} {
		if o.set[f.name] && f.value == "" {
			return usagef("--%s: it is empty", f.name)
		}
	}
	if o.hold != "" && o.record != "" && samePlace(o.hold, o.record) {
		return usagef("--hold and --record name one file: %s", o.record)
	}
	if err := o.planning.check(o.set); err != nil {
		return err
	}
	if err := oneOf("--io", o.engine, "auto", "uring", "pread"); err != nil {
		return err
	}
	if o.set["verify"] {
		if err := oneOf("--verify", o.verify, "none", "source", "device"); err != nil {
			return err
		}
	}
	if o.runs < 1 {
		return usagef("--runs %d: at least 1", o.runs)
	}
	o.load = loader.Options{
		IO: o.engine, Buffered: o.buffered, Workers: o.jobs, Verify: loader.Verify(o.verify), SHA256: o.sha256,
		Cold: o.cold, Hold: o.hold != "",
	}
	if err := o.checkVerify(); err != nil {
		return err
	}
	for _, s := range []struct {
		flag, text string
		to         *int64
	}{{"block", o.block, &o.load.Block}, {"inflight", o.inflight, &o.load.Inflight}, {"pinned", o.pinned, &o.load.Pinned}} {
		if !o.set[s.flag] {
			continue
		}
		if *s.to, err = ui.ParseSize(s.text); err != nil {
			return &usageError{fmt.Errorf("--%s: %w", s.flag, err)}
		}
		if *s.to == 0 {
			return usagef("--%s 0: at least one byte", s.flag)
		}
		o.echoes = append(o.echoes, "--"+s.flag+" "+ui.Echo(s.text, *s.to))
	}
	return nil
}

// checkVerify refuses flags that want hashes where none are taken, and what cannot
// be held.
func (o *loadOptions) checkVerify() error {
	hashes := o.verify == "source" || o.verify == "" && o.device != "null"
	for _, f := range []string{"manifest", "record"} {
		if o.set[f] && !hashes {
			return hint(usagef("--%s wants the hashes of what is read, and none are taken", f), "--verify source")
		}
	}
	kind, _, _ := strings.Cut(o.device, ":")
	if kind == "null" && o.verify == "device" {
		return usagef("--verify device reads arenas back, and --device null has none")
	}
	if o.hold != "" {
		switch kind {
		case "null":
			return usagef("--hold keeps arenas, and --device null has none")
		case "opencl":
			return usagef("--hold: memory of OpenCL cannot be handed to another process")
		}
	}
	return nil
}

// untestedDevices says of which devices nobody has seen a load on their hardware.
func untestedDevices() string {
	var b strings.Builder
	for _, kind := range []string{"cuda", "hip", "opencl"} {
		if text := loader.Untested(kind); text != "" {
			fmt.Fprintf(&b, "\n  %-7s %s", kind, text)
		}
	}
	return b.String()
}
