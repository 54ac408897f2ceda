package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ckpt/checkpoint"
	ckptfs "ckpt/internal/fs"
	"ckpt/model"
)

// Options say what an audit is asked for.
type Options struct {
	Level   Level  // zero is LevelHeaders
	Profile string // "auto" (or ""), "none", a name, or the path of a profile
	FailOn  Severity
	Ignore  []IgnoreRule
	All     bool      // keep every instance of a finding
	Now     time.Time // decides which rules have expired
	Jobs    int       // files open at a time; 0 is one a processor
	// Progress, if not nil, is told how many files have been read.
	Progress func(done, total int)
}

// ErrProfile is matched by the error for a profile that does not exist or does
// not parse.
var ErrProfile = errors.New("unknown profile")

// Profiles that are none by name.
const (
	ProfileAuto = "auto"
	ProfileNone = "none"
)

// Run audits what lies at path. What is wrong with it is in the report, a path
// that does not exist included; an error says that no audit could be made: an
// unknown profile, a level or format that this version does not read, or ctx.
func Run(ctx context.Context, path string, opts Options) (*Report, error) {
	if opts.Level == 0 {
		opts.Level = LevelHeaders
	}
	opts.Level = opts.Level.complete()
	if deep := opts.Level &^ (LevelMetadata | LevelHeaders); deep != 0 {
		return nil, fmt.Errorf("%w: %s needs payloads, which this version does not read", ErrLevel, opts.Level)
	}
	profile, err := chosenProfile(opts.Profile)
	if err != nil {
		return nil, err
	}
	a := &audit{opts: opts, path: path, wanted: profile, col: NewCollector(CollectorOptions{
		Level: opts.Level, FailOn: opts.FailOn, Ignore: opts.Ignore, All: opts.All, Now: opts.Now})}
	a.Checkpoint, err = checkpoint.Survey(ctx, path, checkpoint.Options{
		Headers: opts.Level.Has(LevelHeaders), Sparse: true, Jobs: opts.Jobs, Progress: opts.Progress})
	if err != nil {
		return a.unreadablePath(err)
	}
	return a.run(), nil
}

// audit is one audit in progress.
type audit struct {
	*checkpoint.Checkpoint
	opts   Options
	path   string
	wanted *model.Profile // asked for by name, nil for auto and none
	col    *Collector

	config   *model.Config // nil where there is none that parses
	fit      *model.Fit    // nil for --profile none
	in       *model.Instance
	synth    bool                      // ckpt-synth.json marks the directory
	lost     int                       // files that the set needs and that cannot be read
	unnamed  int                       // of them, those that only the numbers of a set speak of
	mu       sync.Mutex                // of tainted
	tainted  map[*checkpoint.File]bool // files of which something was found
	disagree int                       // tensors about which index and shards disagree
	census   *census
}

// chosenProfile loads the profile that is named; nil for auto and none.
func chosenProfile(name string) (*model.Profile, error) {
	switch name {
	case "", ProfileAuto, ProfileNone:
		return nil, nil
	}
	if p, ok := model.Named(name); ok {
		return p, nil
	}
	if !strings.ContainsAny(name, `/\.`) {
		return nil, fmt.Errorf("%w %q: known are auto, none, %s, or the path of a profile", ErrProfile, name, strings.Join(model.Names(), ", "))
	}
	p, err := model.LoadProfile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, nil
}

// unreadablePath makes a report of a path at which nothing can be audited.
func (a *audit) unreadablePath(err error) (*Report, error) {
	a.Checkpoint = &checkpoint.Checkpoint{Path: a.path, Dir: a.path}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errors.ErrUnsupported):
		return nil, err
	case errors.Is(err, checkpoint.ErrNotFound):
		msg := err.Error()
		var missing *checkpoint.NotFoundError
		if errors.As(err, &missing) {
			msg = missing.Msg
		}
		a.col.Add(Finding{ID: "FS001", Message: msg, Actual: a.path,
			Fix: "give the directory that holds config.json and the weight files, the index, or one of the weight files"})
		a.col.Skip("*", "there is no checkpoint to look at")
	default:
		a.col.Add(a.unreadable("", a.path, err))
		a.col.Skip("*", "the path cannot be read")
	}
	return a.col.Report(Subject{Path: a.path}), nil
}

// unreadable is the finding for a file or directory that the system refuses to
// read, with errno and file system.
func (a *audit) unreadable(name, path string, err error) Finding {
	var pathErr *fs.PathError
	cause := err
	if errors.As(err, &pathErr) {
		cause = pathErr.Err
	}
	fix := "look at the kernel's log and the state of the drive before reading on"
	if errors.Is(err, os.ErrPermission) {
		fix = "have read rights given: namei -l " + shellQuote(path)
	}
	return Finding{ID: "FS011", File: name, Expected: "readable", Actual: errnoText(cause),
		Message: fmt.Sprintf("cannot be read: %s on %s", errnoText(cause), ckptfs.TypeOf(existing(path))), Fix: fix}
}

// existing is the nearest directory above path that can be asked for its file
// system.
func existing(path string) string {
	for range 64 {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			break
		}
		path = up
	}
	return path
}

func (a *audit) run() *Report {
	a.tainted = map[*checkpoint.File]bool{}
	for i := range a.Entries {
		a.synth = a.synth || a.Entries[i].Name == "ckpt-synth.json"
	}
	a.readConfig()
	a.match()
	a.waive()
	a.checkDirectory()
	a.checkFiles()
	a.checkHeaders()
	a.checkIndex()
	// These three go over every tensor, and none needs the others.
	var tensors sync.WaitGroup
	tensors.Go(a.checkDifferences)
	tensors.Go(a.checkQuantization)
	a.takeCensus()
	tensors.Wait()
	a.checkModel()
	a.checkScales()
	a.checkConfig()
	a.checkRelease()
	return a.col.Report(a.subject())
}

// headers says whether the level reads the files.
func (a *audit) headers() bool { return a.opts.Level.Has(LevelHeaders) }

// waive names what the command line left out.
func (a *audit) waive() {
	if a.opts.Profile == ProfileNone {
		a.col.Waive("MD*", "--profile none")
	}
	if a.Single {
		reason := "a file with no set, index or config.json beside it is audited alone"
		for _, id := range []string{"IX*", "CF*", "MD*", "SE*", "FS002", "FS008", "FS010", "FS013", "FS014"} {
			a.col.Skip(id, reason)
		}
	}
}

// add records a finding and remembers that its file is not clean.
func (a *audit) add(f *checkpoint.File, finding Finding) {
	if f != nil {
		finding.File = f.Name
		a.mu.Lock()
		a.tainted[f] = true
		a.mu.Unlock()
	}
	a.col.Add(finding)
}

// fetch is the command that brings files again.
func (a *audit) fetch(files ...string) string {
	repo := "REPO"
	if r := a.release(); r != nil && r.Repo != "" {
		repo = r.Repo
	}
	words := []string{"hf download", repo}
	for _, f := range files {
		words = append(words, shellQuote(f))
	}
	return strings.Join(append(words, "--local-dir", shellQuote(a.Dir), "--force-download"), " ")
}

// release is the official release of the family, nil where none is known. Only
// a checkpoint that has its sizes can be mended from it.
func (a *audit) release() *model.Release {
	if a.in == nil {
		return nil
	}
	return a.in.Release
}

// shellQuote makes a word safe to paste into a shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./+,:@%=~", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
