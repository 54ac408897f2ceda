package shard

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Short files that would become large. Each is refused for its reason, and what
// it takes is bounded: ten times the text, the buffers that it grew in included.
func TestBombs(t *testing.T) {
	p := tiny(t)
	var good bytes.Buffer
	if err := p.Write(&good, false); err != nil {
		t.Fatal(err)
	}
	list := func(field, value string, n int) string {
		before, after, ok := strings.Cut(good.String(), field)
		if !ok {
			t.Fatal(field)
		}
		return before + field + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]," + `"x":[` + after
	}
	outputs := `{"outputs":[` + strings.Repeat("{},", 9) + `{}]}`
	const fit, many = 2_500_000, 20_000_000 // within MaxPlan, and beyond
	for name, bomb := range map[string]struct{ text, reason string }{
		"moves beyond the text": {list(`"moves":[`, "{}", many), "more than 8388608 bytes"},
		"moves":                 {list(`"moves":[`, "{}", fit), "a list of more than 65536"},
		"ranks":                 {list(`"ranks":[`, "{}", fit), "a list of more than 65536"},
		"extents":               {list(`"extents":[`, "{}", fit), "a list of more than 65536"},
		"families":              {list(`"families":[`, "{}", fit), "a list of more than 65536"},
		"orders":                {list(`"orders":[`, "[]", fit), "a list of more than 65536"},
		"outputs of templates":  {list(`"templates":[`, outputs, 60_000), "more than 262144 objects"},
		"notes":                 {list(`"notes":[`, `""`, fit), "more than 1048576 values"},
		"nesting":               {strings.Repeat("[", 4_000_000), "more than 32 deep"},
	} {
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed)
		if err == nil {
			_, err = io.WriteString(z, bomb.text)
		}
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		for _, file := range [][]byte{packed.Bytes(), []byte(bomb.text)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = Read(bytes.NewReader(file))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), bomb.reason) {
				t.Errorf("%s: %v", name, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 10*MaxPlan {
				t.Errorf("%s: %d bytes were taken for %d", name, took, len(file))
			}
		}
	}
}

// What fits the bounds and is as large as can be takes no gigabytes either.
func TestLargestLists(t *testing.T) {
	text := `{"schema":"ckpt.plan/v1","layout":"engine","a_log":"stored","families":[{}` + strings.Repeat(",{}", maxList-1) + `],"notes":[""` + strings.Repeat(`,""`, maxValues-1) +
		`],"program":{"templates":[{"outputs":[{}` + strings.Repeat(",{}", maxList-1) + `]},{"outputs":[{}` + strings.Repeat(",{}", maxList-1) + `]}]}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(strings.NewReader(text))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "degrees") {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 512<<20 {
		t.Errorf("%d bytes were taken", took)
	}
}

// A plan that would not be read is not written.
func TestWriteRefusesWhatReadWould(t *testing.T) {
	p := tiny(t)
	p.Notes = make([]string, maxValues+1)
	for _, compress := range []bool{false, true} {
		var b bytes.Buffer
		if err := p.Write(&b, compress); !errors.Is(err, ErrFormat) || b.Len() > 0 {
			t.Errorf("%d bytes, %v", b.Len(), err)
		}
	}
}
