package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	ckptfs "ckpt/internal/fs"
	"ckpt/internal/names"
)

// Options say how much to look at.
type Options struct {
	// Headers reads the header of every weight file; without it the config,
	// the index and the directory are all.
	Headers bool
	// Sparse looks for holes in the data and at how files lie on the device.
	Sparse bool
	// Jobs bounds the files that are open at a time: 0 is one a processor, and
	// 256 the most.
	Jobs int
	// Progress, if not nil, is told after each file. It is called from many
	// goroutines, one at a time.
	Progress func(done, total int)
}

// mostJobs bounds Options.Jobs: more readers than this gain nothing on any
// storage, and each holds a file and a buffer.
const mostJobs = 256

// maxConfig bounds config.json: that of Kimi K3 has 7,006 bytes, lists of
// quantized modules in others reach a megabyte.
const maxConfig = 64 << 20

// Survey looks at what lies at path. What is wrong with a file, the index or
// the config is kept beside it; the error is for a path that cannot be looked
// at (NotFoundError, UnsupportedError, of the file system) and for ctx.
func Survey(ctx context.Context, path string, opts Options) (*Checkpoint, error) {
	at, err := locate(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Path: path, Dir: at.dir, Format: Safetensors, Single: at.single != "",
		Names: names.NewTable(), specs: newSpecTable(), where: map[string]*File{}}
	if c.Single {
		c.Entries = []Entry{lookAt(at.dir, at.single)}
	} else if c.Entries, err = readDir(at.dir); err != nil {
		return nil, err
	}
	if at.index == "" && !c.Single {
		if at.index, err = chooseIndex(c.Entries); err != nil {
			return nil, &NotFoundError{path, err.Error(), nil}
		}
	}
	s := survey{Checkpoint: c, opts: opts, at: at}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func lookAt(dir, name string) Entry {
	typ := fs.FileMode(0)
	if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		typ = info.Mode().Type()
	}
	return look(dir, name, typ)
}

// survey is the work of Survey.
type survey struct {
	*Checkpoint
	opts Options
	at   *location
	mu   sync.Mutex
	done int
	most int // files whose headers are there to be read
}

func (s *survey) run(ctx context.Context) error {
	if err := s.present(); err != nil {
		return err
	}
	s.readConfig()
	for i := range s.Entries {
		if s.weights(s.Entries[i].Name) && s.Entries[i].Link != BrokenLink {
			s.most++
		}
	}
	jobs := s.opts.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	jobs = min(jobs, mostJobs)
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan *File)
	named := make(chan *Index, 1)
	// The index is the longest single piece of work: it goes first and beside
	// the headers of the files that the directory has.
	group.Go(func() error {
		if s.at.index != "" {
			named <- readIndex(filepath.Join(s.Dir, s.at.index), s.at.index, s.Names)
		}
		close(named)
		return nil
	})
	group.Go(func() error {
		defer close(queue)
		return s.feed(ctx, queue, named)
	})
	for range jobs {
		group.Go(func() error {
			r := s.newReader()
			for f := range queue {
				r.read(f)
				s.tick()
			}
			return nil
		})
	}
	err := group.Wait()
	slices.SortFunc(s.Files, func(a, b *File) int { return natural(a.Name, b.Name) })
	return err
}

// present says whether there is anything that could be a checkpoint.
func (s *survey) present() error {
	if s.Single || s.at.index != "" {
		return s.refuseGGUF(s.at.single)
	}
	pickles := 0
	for i := range s.Entries {
		name := s.Entries[i].Name
		if s.weights(name) {
			return nil
		}
		if strings.HasSuffix(name, ".bin") || strings.HasSuffix(name, ".pth") || strings.HasSuffix(name, ".pt") {
			pickles++
		}
	}
	for i := range s.Entries {
		if err := s.refuseGGUF(s.Entries[i].Name); err != nil {
			return err
		}
	}
	msg := "the directory holds no safetensors files and no index of them"
	if pickles > 0 {
		msg += fmt.Sprintf(", but %d PyTorch pickles, which ckpt does not read", pickles)
	}
	return &NotFoundError{s.Path, msg, nil}
}

// refuseGGUF names what cannot be read yet.
func (s *survey) refuseGGUF(name string) error {
	if !strings.HasSuffix(name, ggufSuffix) {
		return nil
	}
	s.Format = GGUF
	return &UnsupportedError{"GGUF checkpoints", filepath.Join(s.Dir, name) + " is GGUF; this version reads safetensors"}
}

func (s *survey) readConfig() {
	for i := range s.Entries {
		if s.Entries[i].Name == configName && !s.Single {
			s.Config = readDocument(s.Dir, configName)
		}
	}
}

func readDocument(dir, name string) *Document {
	d := &Document{Name: name}
	d.Data, d.Err = ckptfs.ReadRegular(filepath.Join(dir, name), maxConfig)
	if d.Err == nil {
		d.SHA256 = sha256.Sum256(d.Data)
	}
	return d
}

// feed sends the files to the readers: first those of the directory, then, when
// the index is known, those that it names and that the directory lacks.
func (s *survey) feed(ctx context.Context, queue chan<- *File, named <-chan *Index) error {
	for i := range s.Entries {
		e := &s.Entries[i]
		if !s.weights(e.Name) {
			continue
		}
		f := s.add(e.Name)
		if e.Link == BrokenLink {
			f.Fault = &Fault{Reason: Dangling, Detail: e.Target, Msg: "the link leads to " + e.Target + ", where there is nothing"}
			continue
		}
		if err := s.send(ctx, queue, f); err != nil {
			return err
		}
	}
	if s.Index = <-named; s.Index == nil || s.Index.Err != nil {
		for _, f := range s.Files {
			f.Indexed = true
		}
		return nil
	}
	return s.feedNamed(ctx, queue)
}

// weights says whether a name of the directory is a weight file's, of the set
// that was asked for.
func (s *survey) weights(name string) bool {
	if s.Single {
		return true
	}
	if !strings.HasSuffix(name, weightSuffix) {
		return false
	}
	if s.at.set == "" {
		return true
	}
	part, ok := PartOf(name)
	return ok && part.set() == s.at.set
}

func (s *survey) add(name string) *File {
	f := &File{Name: name, Path: filepath.Join(s.Dir, name)}
	s.Files = append(s.Files, f)
	s.where[name] = f
	return f
}

func (s *survey) send(ctx context.Context, queue chan<- *File, f *File) error {
	select {
	case queue <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *survey) feedNamed(ctx context.Context, queue chan<- *File) error {
	lying, partial := s.byName()
	for _, name := range s.Index.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, ok := s.where[name]
		if ok {
			f.Indexed = true
			continue
		}
		f = s.add(name)
		f.Indexed = true
		if f.Fault = absent(name, lying[name], partial[name]); f.Fault != nil {
			continue
		}
		if err := s.send(ctx, queue, f); err != nil {
			return err
		}
	}
	return nil
}

// absent says why a file that the index names cannot be there; nil where it is,
// under a name without the usual suffix. lying is the entry of that name and
// partial a download of it, nil where there is none.
func absent(name string, lying, partial *Entry) *Fault {
	switch {
	case !plainName(name):
		return &Fault{Reason: Outside, Msg: "the index gives a path where a plain file name belongs; it is not opened"}
	case lying != nil && lying.Link == BrokenLink:
		return &Fault{Reason: Dangling, Detail: lying.Target, Msg: "the link leads to " + lying.Target + ", where there is nothing"}
	case lying != nil:
		return nil
	case partial != nil:
		return &Fault{Reason: Partial, Detail: partial.Name, Msg: "only a partial download lies here: " + partial.Name}
	}
	return &Fault{Reason: Missing, Msg: "the index names this file and it is not here"}
}

// byName finds entries, and downloads by the file that they are to become.
func (s *survey) byName() (lying, partial map[string]*Entry) {
	lying, partial = map[string]*Entry{}, map[string]*Entry{}
	for i := range s.Entries {
		e := &s.Entries[i]
		lying[e.Name] = e
		if whole := PartialOf(e.Name); whole != "" && partial[whole] == nil {
			partial[whole] = e
		}
	}
	return lying, partial
}

// PartialOf is the name of the file of which name is a partial download, or "".
func PartialOf(name string) string {
	for _, suffix := range []string{".incomplete", ".part", ".aria2", ".crdownload", ".tmp", ".download", ".partial"} {
		if strings.HasSuffix(name, suffix) {
			return strings.TrimSuffix(name, suffix)
		}
	}
	return ""
}

func (s *survey) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if s.opts.Progress != nil {
		s.opts.Progress(s.done, max(s.done, s.most))
	}
}

var errShrunk = errors.New("the file became shorter while it was read")
