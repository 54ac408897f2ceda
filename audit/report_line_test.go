package audit

import "testing"

// k3 are the sizes of a whole Kimi K3.
func k3() Stats {
	return Stats{
		Tensors: At(497220), LanguageTensors: At(497052), ExpertTensors: At(494592),
		Shards: At(96), MissingShards: At(0), TotalSize: At(1560860324864),
		FileBytes: At(1560936091448), TextBytes: At(1559965606912),
	}
}

func TestVerdictLine(t *testing.T) {
	tests := []struct {
		name  string
		opts  CollectorOptions
		stats Stats
		is    string
		do    func(*Collector)
		want  string
	}{
		{"pass", CollectorOptions{}, k3(), "official Kimi K3 release", nil,
			"PASS: 96 files, 497,220 tensors, 1,560.9 GB; official Kimi K3 release"},
		{"warning", CollectorOptions{}, k3(), "official Kimi K3 release",
			func(c *Collector) { c.Add(Finding{ID: "CF005"}) },
			"PASS: 1 warning; 96 files, 497,220 tensors, 1,560.9 GB; official Kimi K3 release"},
		{"metadata", CollectorOptions{Level: LevelMetadata},
			Stats{Tensors: At(497220), Shards: At(0), MissingShards: At(96), TotalSize: At(1560860324864)}, "Kimi K3", nil,
			"PASS at level metadata: 0 files, 96 absent, 497,220 tensors, 1,560.9 GB; Kimi K3"},
		{"no profile", CollectorOptions{}, Stats{Shards: At(1), Tensors: At(1), TotalSize: At(12)}, "structure only: no profile for bert", nil,
			"PASS: 1 file, 1 tensor, 12 bytes; structure only: no profile for bert"},
		{"fail", CollectorOptions{}, Stats{}, "",
			func(c *Collector) {
				c.Add(Finding{ID: "FS002", File: "a", Refetch: true, Count: 1200})
				c.Add(Finding{ID: "CF005"})
				c.Gap("ST005", "no")
			},
			"FAIL: 1,200 errors, 1 warning; 1 check could not be made; 1 file to fetch again"},
		{"incomplete", CollectorOptions{}, Stats{}, "", func(c *Collector) { c.Gap("QT*", "no") },
			"INCOMPLETE: 4 checks could not be made"},
		{"nothing to say", CollectorOptions{}, Stats{}, "", nil, "PASS"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := clean(test.opts)
			if test.do != nil {
				test.do(c)
			}
			r := c.Report(Subject{Format: FormatSafetensors, Stats: test.stats, Identity: test.is})
			if got := r.VerdictLine(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestSizesInWords(t *testing.T) {
	tests := []struct {
		n             int64
		count, amount string
	}{
		{0, "0", "0 bytes"},
		{1, "1", "1 byte"},
		{-1234, "-1,234", "-1,234 bytes"},
		{999, "999", "999 bytes"},
		{1000, "1,000", "1.0 kB"},
		{1049, "1,049", "1.0 kB"},
		{1050, "1,050", "1.1 kB"},
		{999_999, "999,999", "1,000.0 kB"},
		{123_456_789, "123,456,789", "123.5 MB"},
		{9223372036854775807, "9,223,372,036,854,775,807", "9,223,372,036.9 GB"},
	}
	for _, test := range tests {
		if got := thousands(test.n); got != test.count {
			t.Errorf("thousands(%d) = %s", test.n, got)
		}
		if got := decimalBytes(test.n); got != test.amount {
			t.Errorf("decimalBytes(%d) = %s, want %s", test.n, got, test.amount)
		}
	}
}
