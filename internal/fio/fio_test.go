package fio

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

func sample(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/read.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestParseWhatFioPrints(t *testing.T) {
	for _, before := range []string{"", "note: both iodepth >= 1 and synchronous I/O engine are selected\n"} {
		r, err := Parse([]byte(before + sample(t)))
		if err != nil {
			t.Fatal(err)
		}
		want := Result{
			Version: "fio-3.33", Jobs: 1, Bytes: 67108864, Seconds: 0.077, P50: 17956.864, P99: 27131.904,
			Engine: "io_uring", Block: "4m", Depth: "4", Direct: "1", Pattern: "read",
		}
		if *r != want {
			t.Errorf("%+v\nwant %+v", *r, want)
		}
		if math.Round(r.Rate()) != 871543688 {
			t.Errorf("%f bytes a second", r.Rate())
		}
	}
}

func TestGroups(t *testing.T) {
	job := func(group, bytes, ms string) string {
		return `{"jobname":"j","groupid":` + group + `,"read":{"io_bytes":` + bytes + `,"runtime":` + ms + `}}`
	}
	r, err := Parse([]byte(`{"fio version":"fio-3.36","global options":{"ioengine":"libaio"},"jobs":[` +
		strings.Join([]string{job("0", "1000", "1000"), job("1", "3000", "1000"), job("1", "3000", "1500"), job("2", "0", "0")}, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Jobs != 2 || r.Rate() != 4000 || r.Engine != "libaio" {
		t.Errorf("%+v", r)
	}
}

func TestRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":      "",
		"text":       "fio: no such file",
		"other":      `{"schema":"ckpt.load/v1"}`,
		"no jobs":    `{"fio version":"fio-3.33","jobs":[]}`,
		"only write": `{"fio version":"fio-3.33","jobs":[{"write":{"io_bytes":1,"runtime":1}}]}`,
		"failed":     `{"fio version":"fio-3.33","jobs":[{"error":5,"read":{"io_bytes":1,"runtime":1}}]}`,
		"no time":    `{"fio version":"fio-3.33","jobs":[{"read":{"io_bytes":1,"runtime":0}}]}`,
		"below 0":    `{"fio version":"fio-3.33","jobs":[{"read":{"io_bytes":-1,"runtime":1}}]}`,
		"beyond":     `{"fio version":"fio-3.33","jobs":[{"read":{"io_bytes":9223372036854775807,"runtime":1}}]}`,
		"cut off":    sample(t)[:3000],
		"two":        sample(t) + sample(t),
	} {
		if r, err := Parse([]byte(text)); !errors.Is(err, ErrFormat) || r != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample(f)))
	f.Add([]byte(`{"fio version":"3","jobs":[{"groupid":1,"read":{"io_bytes":7,"runtime":2,"clat_ns":{"percentile":{"50.000000":1e300}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if rate := r.Rate(); !(rate > 0) || math.IsInf(rate, 0) || r.Jobs < 1 || r.P50 < 0 || r.P99 < 0 {
			t.Fatalf("%+v", r)
		}
	})
}
