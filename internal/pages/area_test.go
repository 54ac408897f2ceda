package pages

import (
	"context"
	"errors"
	"math"
	"testing"
)

func TestAreas(t *testing.T) {
	for _, size := range []int64{0, 1, 4096, 4097, HugeBytes - 1, HugeBytes, 5*HugeBytes + 3} {
		for name, open := range map[string]func(context.Context, int64) (*Area, error){"New": New, "NewPlain": NewPlain} {
			a, err := open(t.Context(), size)
			if err != nil {
				t.Fatalf("%s(%d): %v", name, size, err)
			}
			checkArea(t, a, size)
			for range 2 {
				if err := a.Close(); err != nil {
					t.Errorf("%s(%d): Close: %v", name, size, err)
				}
			}
		}
	}
}

func checkArea(t *testing.T, a *Area, size int64) {
	t.Helper()
	mem := a.Bytes()
	if int64(len(mem)) != size || cap(mem) != len(mem) {
		t.Fatalf("%d bytes, room for %d, want %d", len(mem), cap(mem), size)
	}
	for i, b := range mem {
		if b != 0 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
	for i := range mem {
		mem[i] = byte(i)
	}
	if a.Huge() < 0 || a.Huge() > size+4096 {
		t.Errorf("%d of %d bytes on huge pages", a.Huge(), size)
	}
	if a.Kind() == KindPlain && size > 0 && a.Reason() == "" {
		t.Error("small pages without a reason")
	}
}

func TestAreasTooLarge(t *testing.T) {
	for _, size := range []int64{-1, 1 << 45, 1<<46 + 1, math.MaxInt64} {
		if a, err := New(t.Context(), size); !errors.Is(err, ErrNoMemory) {
			t.Errorf("New(%d): %v, %v", size, a, err)
		}
		if a, err := NewShared(t.Context(), "test", size); !errors.Is(err, ErrNoMemory) {
			t.Errorf("NewShared(%d): %v, %v", size, a, err)
		}
	}
}
