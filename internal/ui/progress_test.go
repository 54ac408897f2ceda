package ui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := NewProgress(&b, Plain)
		p.Start("reading", 200e9, Bytes)
		p.Add(50e9)
		time.Sleep(10*time.Second + time.Millisecond)
		p.Stop()
		p.Stop()
		want := "reading  50.0 GB of 200.0 GB  25%  5.0 GB/s  30 s left\n"
		if b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	})
}

func TestProgressMoving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := NewProgress(&b, Plain)
		p.mode, p.tick = Auto, movingLine // as on a terminal
		p.Start("short work", 10, "files")
		time.Sleep(200 * time.Millisecond)
		p.Stop()
		if b.Len() != 0 {
			t.Errorf("work that is soon over shows %q", b.String())
		}
		p.Start("opening", 10, "files")
		p.Add(2)
		time.Sleep(350 * time.Millisecond)
		p.Stop()
		if s := b.String(); !strings.HasPrefix(s, "\ropening  2 of 10 files  20%") || !strings.HasSuffix(s, "\r\x1b[K") {
			t.Errorf("%q", s)
		}
	})
}

func TestProgressJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := NewProgress(&b, JSON)
		p.Start("reading", 100, Bytes)
		p.Add(100)
		time.Sleep(2500 * time.Millisecond)
		p.Stop()
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != 3 {
			t.Fatalf("%q", lines)
		}
		var doc struct {
			What        string
			Done, Total int64
		}
		if err := json.Unmarshal([]byte(lines[2]), &doc); err != nil || doc.Done != 100 || doc.Total != 100 || doc.What != "reading" {
			t.Errorf("%+v, %v", doc, err)
		}
	})
}

func TestProgressSilent(t *testing.T) {
	var b bytes.Buffer
	for _, p := range []*Progress{nil, NewProgress(&b, Auto), NewProgress(&b, None)} {
		p.Start("x", 1, Bytes)
		p.Add(1)
		p.Stop()
	}
	if b.Len() != 0 {
		t.Errorf("%q", b.String())
	}
}

func TestParseMode(t *testing.T) {
	if m, err := ParseMode("json"); err != nil || m != JSON {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := ParseMode("loud"); err == nil {
		t.Error("no error")
	}
}
