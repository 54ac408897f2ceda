package pages

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// piece is how much one call fills: long enough to be cheap, short enough to
// share the work.
const piece = 64 << 20

// fill puts every page of the area in place: huge ones by advice first, then by
// joining what is not, then small ones. The count names the line of the kernel's
// description of a mapping that has the bytes on huge pages.
// Between pieces it looks whether the context has ended.
func (a *Area) fill(ctx context.Context, w wish, count string) error {
	mem := a.inside()
	var advice error
	if w.huge {
		advice = ignoreIntr(func() error { return unix.Madvise(mem, unix.MADV_HUGEPAGE) })
	}
	advised := w.huge && advice == nil && hugeOnTouch(mem, count)
	if w.collapse && !advised {
		advice = errors.Join(advice, collapse(ctx, mem))
	}
	if err := populate(ctx, mem); ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		return noMemory("madvise", int64(len(a.mem)), err)
	}
	a.huge = min(hugeBytes(address(mem), count), int64(len(mem)))
	if w.collapse && advised && a.huge < int64(len(mem)/HugeBytes*HugeBytes) {
		// Memory is in pieces; joining makes the kernel move others away.
		advice = errors.Join(advice, collapse(ctx, mem))
		a.huge = min(hugeBytes(address(mem), count), int64(len(mem)))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.describe(w, advised, advice)
	return nil
}

func (a *Area) describe(w wish, advised bool, advice error) {
	switch {
	case a.huge*2 < int64(len(a.mem)):
		a.kind = KindPlain
	case advised:
		a.kind = KindHuge
	default:
		a.kind = KindCollapsed
	}
	switch {
	case a.kind == KindHuge && a.huge >= int64(len(a.mem)/HugeBytes*HugeBytes):
	case len(a.mem) < HugeBytes:
		a.reason = "it is smaller than a huge page"
	case !w.huge && !w.collapse:
		a.reason = "small pages were asked for"
	case advice != nil:
		a.reason = strings.ReplaceAll(advice.Error(), "\n", ", ")
	case a.kind == KindCollapsed:
		a.reason = "the system gives huge pages only to memory that is there already"
	default:
		a.reason = fmt.Sprintf("the system gave huge pages for %d of %d bytes", a.huge, len(a.mem))
	}
}

// hugeOnTouch touches the first byte and looks whether a huge page came.
func hugeOnTouch(mem []byte, count string) bool {
	if len(mem) < HugeBytes {
		return false
	}
	if err := ignoreIntr(func() error { return unix.Madvise(mem[:pageSize()], unix.MADV_POPULATE_WRITE) }); err != nil {
		return false
	}
	return hugeBytes(address(mem), count) > 0
}

// collapse touches one page of each huge page to be, which is enough for the
// kernel to join it with what is not there yet, and joins.
func collapse(ctx context.Context, mem []byte) error {
	mem = mem[:len(mem)/HugeBytes*HugeBytes]
	return inParallel(ctx, mem, func(part []byte) error {
		for at := 0; at < len(part) && ctx.Err() == nil; at += HugeBytes {
			one := part[at : at+HugeBytes]
			if err := populateOne(one[:pageSize()]); err != nil {
				return os.NewSyscallError("madvise populate", err)
			}
			err := ignoreIntr(func() error { return unix.Madvise(one, unix.MADV_COLLAPSE) })
			for try := 0; errors.Is(err, unix.EAGAIN) && try < 3; try++ { // a page was in use
				time.Sleep(time.Millisecond)
				err = ignoreIntr(func() error { return unix.Madvise(one, unix.MADV_COLLAPSE) })
			}
			if err != nil && !errors.Is(err, unix.EAGAIN) {
				return os.NewSyscallError("madvise collapse", err)
			}
		}
		return nil
	})
}

// populate puts pages in place. Where memory lacks the call says so; touching
// the pages would end the process.
func populate(ctx context.Context, mem []byte) error {
	return inParallel(ctx, mem, populateOne)
}

func populateOne(mem []byte) error {
	err := ignoreIntr(func() error { return unix.Madvise(mem, unix.MADV_POPULATE_WRITE) })
	switch {
	case errors.Is(err, unix.EINVAL): // before Linux 5.14; the space of memory files is taken already
		for at := 0; at < len(mem); at += pageSize() {
			mem[at] = 0
		}
		return nil
	case errors.Is(err, unix.EFAULT), errors.Is(err, unix.EHWPOISON):
		return errors.Join(unix.ENOMEM, err)
	}
	return err
}

// inParallel shares an area among a few threads: zeroing is bound by memory.
func inParallel(ctx context.Context, mem []byte, do func([]byte) error) error {
	if len(mem) <= piece {
		return do(mem)
	}
	var g errgroup.Group
	g.SetLimit(min(runtime.GOMAXPROCS(0), 8))
	for at := 0; at < len(mem); at += piece {
		part := mem[at:min(at+piece, len(mem))]
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(part)
		})
	}
	return g.Wait()
}

// hugeBytes reads how much of the mapping that begins at an address lies on huge
// pages; 0 where that is not told. The kernel walks all mappings to answer, so it
// is asked a few times an area, never a page.
func hugeBytes(at uintptr, count string) int64 {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0
	}
	defer f.Close()
	return mappingField(bufio.NewScanner(f), at, count)
}

// mappingField finds a line "Name:   123 kB" of the mapping that begins at an
// address, in bytes.
func mappingField(s *bufio.Scanner, at uintptr, name string) int64 {
	head, line := []byte(fmt.Sprintf("%08x-", at)), []byte(name+":")
	found := false
	for s.Scan() {
		text := s.Bytes()
		switch {
		case !found:
			found = bytes.HasPrefix(text, head)
		case bytes.HasPrefix(text, line):
			fields := strings.Fields(string(text))
			if len(fields) < 2 {
				return 0
			}
			n, err := strconv.ParseInt(fields[1], 10, 53)
			if err != nil {
				return 0
			}
			return n << 10
		case bytes.HasPrefix(text, []byte("VmFlags:")):
			return 0
		}
	}
	return 0
}

func ignoreIntr(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
