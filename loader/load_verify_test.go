package loader

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"

	"ckpt/shard"
)

// flip changes one byte of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// small are options that make many blocks of a small model.
func small(d ...Device) Options {
	return Options{Devices: d, Block: LeastBlock, Pinned: 16 * LeastBlock, Workers: 2}
}

// wantedTensors counts source tensors that some rank holds.
func wantedTensors(p *shard.Plan) (n int64) {
	for _, f := range p.Families {
		if f.Action != shard.Skip {
			n += f.Count
		}
	}
	return n
}

// Hashes are those of the bytes in the files, across blocks; what was recorded
// verifies again, from a file of it, and another byte does not.
func TestHashesAreOfTheSource(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	host := NewHost()
	o := small(host)
	o.SHA256 = true
	l, r, err := Load(t.Context(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	v := r.Verify
	if v.Status != StatusRecorded || v.Tensors != wantedTensors(p) || v.Files != len(p.Source.Files) || v.Reference != ReferenceNone {
		t.Errorf("%+v", v)
	}
	release := map[string]string{}
	for _, x := range l.Manifest().Files {
		data, err := os.ReadFile(filepath.Join(dir, x.Name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if release[x.Name] = hex.EncodeToString(sum[:]); release[x.Name] != x.SHA256 {
			t.Errorf("%s: %s", x.Name, x.SHA256)
		}
	}
	n := 0
	for x := range p.Tensors(0) {
		for _, s := range x.Sources {
			data, err := os.ReadFile(filepath.Join(dir, s.File))
			if err != nil {
				t.Fatal(err)
			}
			want := xxh3.Hash128(data[s.Offset : s.Offset+s.Bytes]).Bytes()
			if got := l.Hash(s.File, s.Offset); got != hex.EncodeToString(want[:]) {
				t.Fatalf("%s: %s", s.Name, got)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("%d tensors", n)
	}
	var text bytes.Buffer
	if err := l.Manifest().Write(&text); err != nil {
		t.Fatal(err)
	}
	m, err := ReadManifest(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	closeAll(t, l)
	o.Manifest, o.Release = m, release
	if l, r, err = Load(t.Context(), p, dir, o); err != nil || r.Verify.Status != StatusOK || r.Verify.Reference != "release, manifest" {
		t.Fatalf("%v %+v", err, r.Verify)
	}
	closeAll(t, l)
	f := p.Source.Files[0]
	flip(t, filepath.Join(dir, f.Name), f.Size-1)
	for _, sha := range []bool{false, true} {
		o.SHA256 = sha
		l, r, err = Load(t.Context(), p, dir, o)
		if l != nil || !errors.Is(err, ErrVerify) || r.Verify.Status != StatusFailed || r.Verify.Failures == 0 {
			t.Fatalf("%v %v %+v", l, err, r.Verify)
		}
	}
	closeAll(t, nil, host)
}

// lossy is a device that drops a bit of one copy.
type lossy struct {
	*Host
	at int64
}

type lossyQueue struct {
	Queue
	d *lossy
}

func (d *lossy) NewQueue() (Queue, error) {
	q, err := d.Host.NewQueue()
	return &lossyQueue{q, d}, err
}

func (q *lossyQueue) Copy(dst Arena, off int64, src []byte) error {
	if q.d.at >= off && q.d.at < off+int64(len(src)) {
		src = bytes.Clone(src)
		src[q.d.at-off] ^= 4
	}
	return q.Queue.Copy(dst, off, src)
}

// Read back, what was placed is compared with the files: one bit is enough.
func TestDeviceVerifyFindsOneBit(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, layout := range []shard.Layout{shard.LayoutCheckpoint, shard.LayoutEngine} {
		dir, p := mini(t, shard.Topology{TP: 4}, shard.Options{Layout: layout})
		d := &lossy{Host: NewHost(), at: -1}
		o := small(d)
		o.Verify = VerifyDevice
		l, r, err := Load(t.Context(), p, dir, o)
		if err != nil || r.Verify.Status != StatusOK || r.Verify.Reference != ReferenceReadBack || r.Verify.Tensors != wantedTensors(p) {
			t.Fatalf("%v %+v", err, r)
		}
		closeAll(t, l)
		for x := range p.Tensors(1) {
			if x.Axis == nil && x.Bytes > 64 {
				d.at = x.Offset + x.Bytes/2
				break
			}
		}
		l, r, err = Load(t.Context(), p, dir, o)
		if l != nil || !errors.Is(err, ErrVerify) || r.Verify.Status != StatusFailed || r.Verify.Failed[0].Offset != d.at {
			t.Fatalf("%v %+v, the bit is at %d", err, r.Verify, d.at)
		}
		closeAll(t, nil, d)
	}
}

// Files that are not those that were planned are refused before anything is
// allocated; files that change while they are read fail the load, by name.
func TestChangedFilesAreNamed(t *testing.T) {
	defer goleak.VerifyNone(t)
	changes := map[string]func(path string, size int64) error{
		"gone":      func(path string, size int64) error { return os.Remove(path) },
		"shorter":   func(path string, size int64) error { return os.Truncate(path, size-1) },
		"longer":    func(path string, size int64) error { return os.Truncate(path, size+1) },
		"header":    func(path string, size int64) error { return writeAt(path, 20, "x") },
		"replaced":  func(path string, size int64) error { return replace(path) },
		"written":   func(path string, size int64) error { return writeAt(path, size-1, "x") },
		"truncated": func(path string, size int64) error { return os.Truncate(path, size/2) },
	}
	for name, change := range changes {
		for _, during := range []bool{false, true} {
			if !during && (name == "replaced" || name == "written") {
				continue // the same headers: another state of the same plan
			}
			dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
			f := p.Source.Files[len(p.Source.Files)-1]
			path := filepath.Join(dir, f.Name)
			host := NewHost()
			o := small(host)
			do := func() {
				if err := change(path, f.Size); err != nil {
					t.Error(err)
				}
			}
			if during {
				o.Progress = &onFirst{do: do}
			} else {
				do()
			}
			l, _, err := Load(t.Context(), p, dir, o)
			if l != nil || !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), f.Name) {
				t.Errorf("%s, during %v: %v", name, during, err)
			}
			closeAll(t, nil, host)
		}
	}
}

func writeAt(path string, at int64, text string) error {
	time.Sleep(10 * time.Millisecond) // a file system's clock ticks
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), at)
	return errors.Join(err, f.Close())
}

func replace(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path+".new", data, 0o666), os.Rename(path+".new", path))
}

// onFirst does something when the first bytes have come.
type onFirst struct {
	do   func()
	done bool
}

func (p *onFirst) Start(string, int64, string) {}
func (p *onFirst) Stop()                       {}
func (p *onFirst) Add(int64) {
	if !p.done {
		p.done = true
		p.do()
	}
}

// A load that is interrupted leaves nothing behind, whenever it is.
func TestInterruptLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, p := mini(t, shard.Topology{TP: 4}, shard.Options{})
	for _, after := range []int{1, 2, 5, 17} {
		host := NewHost()
		ctx, cancel := context.WithCancel(t.Context())
		o := small(host)
		left := after
		o.Progress = &onEach{func() {
			if left--; left == 0 {
				cancel()
			}
		}}
		l, _, err := Load(ctx, p, dir, o)
		if l != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after %d blocks: %v", after, err)
		}
		closeAll(t, nil, host)
		cancel()
	}
}

type onEach struct{ do func() }

func (p *onEach) Start(string, int64, string) {}
func (p *onEach) Stop()                       {}
func (p *onEach) Add(int64)                   { p.do() }

// Some ranks alone get what they get among all, and less is read for them where
// they need less.
func TestSomeRanks(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, top := range []shard.Topology{{TP: 4}, {TP: 1, EP: 4}, {TP: 2, PP: 2}} {
		dir, p := mini(t, top, shard.Options{})
		want := slowly(t, p, dir)
		for _, ranks := range [][]int{{0}, {3, 1}, {2, 3}} {
			for _, verify := range []Verify{VerifySource, VerifyNone, VerifyDevice} {
				host := NewHost()
				o := small(host)
				o.Ranks, o.Verify = ranks, verify
				l, r, err := Load(t.Context(), p, dir, o)
				if err != nil {
					t.Fatal(err)
				}
				node, err := p.Node(ranks)
				if err != nil {
					t.Fatal(err)
				}
				if r.Bytes.Device != node.Device || r.Bytes.Payload != node.Read {
					t.Errorf("%v %v %s: %+v, want %+v", top, ranks, verify, r.Bytes, node)
				}
				if (top.EP > 1 || top.PP > 1 && len(ranks) == 1) && r.Bytes.Requested >= p.Totals.Read {
					t.Errorf("%v %v %s: %d bytes were read of %d", top, ranks, verify, r.Bytes.Requested, p.Totals.Read)
				}
				sameArenas(t, l, want)
				closeAll(t, l, host)
			}
		}
	}
}

// What devices have no memory for is refused before the first read.
func TestArenasBeyondMemory(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	read := false
	o := small(&full{NewHost()})
	o.engine = func(string, EngineOptions) (Engine, EngineInfo, error) {
		read = true
		return nil, EngineInfo{}, errStopped
	}
	if l, r, err := Load(t.Context(), p, dir, o); l != nil || r != nil || !errors.Is(err, ErrMemory) || read {
		t.Errorf("%v, read %v", err, read)
	}
}

type full struct{ *Host }

func (full) Memory() (free, total int64, err error) { return 1 << 20, 1 << 30, nil }

// A plan is proven before it is executed, wherever it comes from.
func TestUnprovenPlansAreRefused(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	p.Program.Extents[0].Runs[0].Pieces[0].Targets[0].At[0] += shard.Alignment
	if _, _, err := Load(t.Context(), p, dir, small(NewHost())); err == nil || !strings.Contains(err.Error(), "not proven") {
		t.Error(err)
	}
}
