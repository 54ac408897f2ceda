package cuda

import (
	"testing"
	"unsafe"
)

// The sizes and places that a C compiler gives the structures of cuda.h 12.9 on
// 64-bit systems.
func TestLayoutsAreThoseOfTheHeader(t *testing.T) {
	for name, pair := range map[string][2]uintptr{
		"CUmemAllocationProp":        {unsafe.Sizeof(allocation{}), 32},
		"CUmemAllocationProp.win32":  {unsafe.Offsetof(allocation{}.win32), 16},
		"CUmemAccessDesc":            {unsafe.Sizeof(access{}), 12},
		"CUDA_MEMCPY2D":              {unsafe.Sizeof(memcpy2D{}), 128},
		"CUDA_MEMCPY2D.srcHost":      {unsafe.Offsetof(memcpy2D{}.srcHost), 24},
		"CUDA_MEMCPY2D.dstDevice":    {unsafe.Offsetof(memcpy2D{}.dstDevice), 88},
		"CUDA_MEMCPY2D.WidthInBytes": {unsafe.Offsetof(memcpy2D{}.width), 112},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d, not %d", name, pair[0], pair[1])
		}
	}
}
