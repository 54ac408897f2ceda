package loader

import (
	"context"
	"fmt"
	"runtime"
	"slices"
)

// room sees whether all memory fits that the load will take, before it takes any:
// what is promised and not there kills the process later. The staging memory
// shrinks to what the machine has left.
func (l *load) room() error {
	need := make([]int64, len(l.o.Devices))
	for _, x := range l.program.locals {
		need[x.device] += l.arenaBytes(x)
	}
	for i, d := range l.o.Devices {
		free, total, err := d.Memory()
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name(), err)
		}
		if total > 0 && need[i] > free {
			return fmt.Errorf("%w: the arenas on %s need %d bytes, and %d of %d are free", ErrMemory, d.Name(), need[i], free, total)
		}
	}
	memory := hostMemory
	if l.o.memory != nil {
		memory = l.o.memory
	}
	free, total, err := memory()
	if err != nil {
		return fmt.Errorf("the memory of the host: %w", err)
	}
	if total == 0 {
		return nil
	}
	return l.shrink(l.hostArenas(), heapRoom(), free, total)
}

// leastSlots is how many blocks the staging memory has where memory is short:
// devices that take packed rows want as many.
const leastSlots = 4

// shrink makes the staging memory, and blocks of a size that nobody asked for, so
// small that they fit.
func (l *load) shrink(host, heap, free, total int64) error {
	beside := l.beside(heap)
	left := free - host - beside
	block := l.o.Block
	if left < leastSlots*block && l.blockFound {
		block = max(LeastBlock, left/leastSlots&^(pageSize-1))
	}
	wanted := l.wantedStaging()
	least := min(leastSlots*block, wanted)
	if left < least {
		return fmt.Errorf("%w: the load needs %d bytes of the host's: %d for arenas, %d of staging at least and %d beside; %d of %d are free",
			ErrMemory, host+least+beside, host, least, beside, free, total)
	}
	if left < wanted {
		pinned := left / block * block
		l.note("staging memory of %d bytes in blocks of %d, not of %d: %d of the host's are free, arenas take %d and the rest of the load %d", pinned, block, l.o.Pinned, free, host, beside)
		l.o.Pinned, l.o.Block = pinned, block
	}
	return nil
}

// wantedStaging is how much staging memory the load would take.
func (l *load) wantedStaging() int64 {
	_, slots := total(l.spans, l.o.Block)
	if slices.ContainsFunc(l.o.Devices, packsRows) {
		slots += 2 * int64(l.o.Workers)
	}
	return min(l.o.Pinned, max(slots, 1)*l.o.Block)
}

func packsRows(d Device) bool { return slices.Contains(d.Ways(), WayPack) }

// hostArenas is what arenas take of the host.
func (l *load) hostArenas() (bytes int64) {
	for _, x := range l.program.locals {
		if inHost(l.o.Devices[x.device]) {
			bytes += l.arenaBytes(x)
		}
	}
	return bytes
}

// arenaBytes is how large the arena of a rank is made.
func (l *load) arenaBytes(x local) int64 {
	bytes := l.plan.Stages[x.stage].Arena
	if l.o.Hold {
		bytes += CanaryBytes
	}
	return bytes
}

// allocOn makes an arena; where the device can, it stops with the context.
func allocOn(ctx context.Context, d Device, bytes int64) (Arena, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if d, ok := d.(interface {
		allocContext(ctx context.Context, bytes int64) (Arena, error)
	}); ok {
		return d.allocContext(ctx, bytes)
	}
	return d.Alloc(bytes)
}

// inHost says whether arenas of a device take memory of the host.
func inHost(d Device) bool {
	switch d := d.(type) {
	case *Host:
		return true
	case *runtimeDevice:
		return d.memory != nil
	}
	return false
}

// besideHeap is what stacks, queues and the runtime may take.
const besideHeap = 32 << 20

// heapRoom is what the heap may grow until it is collected.
func heapRoom() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return besideHeap + max(0, int64(m.NextGC)-int64(m.HeapSys-m.HeapReleased))
}

// beside is what a load takes of the host beside arenas and staging: what the heap
// grows, outputs that are assembled, and what is read back to be compared.
func (l *load) beside(heap int64) int64 {
	bytes := heap
	if n := l.program.largest; n > 0 {
		bytes += max(n, min(assemblyRoom, l.plan.Totals.Device))
	}
	if l.o.Verify == VerifyDevice {
		bytes += 3 * l.largestWindow() // read, wanted and got
	}
	return bytes
}

// largestWindow is the most of a tensor that is compared at once.
func (l *load) largestWindow() int64 {
	most := int64(0)
	for i := range l.plan.Program.Templates {
		t := &l.plan.Program.Templates[i]
		n := min(t.Bytes, placedWindow)
		for k := range t.Outputs {
			if t.Outputs[k].Transform != "" {
				n = t.Bytes
			}
		}
		most = max(most, n)
	}
	return most
}
