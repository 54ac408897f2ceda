package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// Mode says how progress is shown.
type Mode uint8

// The modes of --progress.
const (
	Auto  Mode = iota // one moving line on a terminal, nothing elsewhere
	Plain             // a line every ten seconds
	JSON              // a line of JSON every second
	None              // nothing
)

// ParseMode reads the value of --progress.
func ParseMode(s string) (Mode, error) {
	for m, name := range []string{"auto", "plain", "json", "none"} {
		if s == name {
			return Mode(m), nil
		}
	}
	return Auto, fmt.Errorf("progress %q: one of auto, plain, json, none", s)
}

const (
	firstLine    = 300 * time.Millisecond // work that is over by then shows nothing
	movingLine   = 100 * time.Millisecond
	plainLine    = 10 * time.Second
	jsonLine     = time.Second
	defaultWidth = 80
)

// Bytes is the unit of work that is counted in bytes; any other unit is the
// word for what is counted: "files", "tensors".
const Bytes = "bytes"

// Progress shows how far a piece of work is, with its rate and the time left.
// One piece runs at a time: Start, any number of Adds, Stop. A nil Progress
// shows nothing.
type Progress struct {
	w     io.Writer
	mode  Mode
	width func() int
	now   func() time.Time
	tick  time.Duration

	done atomic.Int64

	mu    sync.Mutex // guards what follows and w
	what  string
	unit  string
	total int64
	begun time.Time
	shown bool
	quit  chan struct{}
	over  chan struct{}
}

// NewProgress makes a Progress that writes to w, in practice the standard
// error. Auto is None where w is not a terminal.
func NewProgress(w io.Writer, mode Mode) *Progress {
	p := &Progress{w: w, mode: mode, now: time.Now}
	p.width = func() int { return TerminalWidth(w, defaultWidth) }
	switch {
	case mode == Auto && IsTerminal(w):
		p.tick = movingLine
	case mode == Auto:
		p.mode = None
	case mode == Plain:
		p.tick = plainLine
	case mode == JSON:
		p.tick = jsonLine
	}
	return p
}

// Start begins a piece of work of total units; 0 is a total that is not known.
// A piece that runs is stopped first.
func (p *Progress) Start(what string, total int64, unit string) {
	if p == nil || p.mode == None {
		return
	}
	p.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.Store(0)
	p.what, p.total, p.unit, p.begun, p.shown = what, total, unit, p.now(), false
	p.quit, p.over = make(chan struct{}), make(chan struct{})
	go p.run(p.quit, p.over)
}

// Add counts n more units as done.
func (p *Progress) Add(n int64) {
	if p != nil {
		p.done.Add(n)
	}
}

// Stop ends the piece of work and takes its line off the terminal.
func (p *Progress) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	quit, over := p.quit, p.over
	p.quit = nil
	p.mu.Unlock()
	if quit == nil {
		return
	}
	close(quit)
	<-over
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mode == Auto && p.shown:
		fmt.Fprint(p.w, "\r\x1b[K")
	case p.mode == JSON:
		p.show()
	}
}

func (p *Progress) run(quit <-chan struct{}, over chan<- struct{}) {
	defer close(over)
	wait := p.tick
	if p.mode == Auto {
		wait = firstLine
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		select {
		case <-quit:
			return
		case <-t.C:
			p.mu.Lock()
			p.show()
			p.mu.Unlock()
			t.Reset(p.tick)
		}
	}
}

// show writes the state in the form of the mode; p.mu is held. An error of the
// writer is of no interest to the work.
func (p *Progress) show() {
	s := state{
		what: p.what, unit: p.unit, total: p.total, done: p.done.Load(),
		elapsed: p.now().Sub(p.begun),
	}
	p.shown = true
	switch p.mode {
	case Auto:
		fmt.Fprintf(p.w, "\r%s\x1b[K", Short(s.line(), p.width()-1))
	case Plain:
		fmt.Fprintln(p.w, s.line())
	case JSON:
		fmt.Fprintln(p.w, s.json())
	}
}

type state struct {
	what, unit  string
	total, done int64
	elapsed     time.Duration
}

// rate is units a second, 0 while too little time has passed to tell.
func (s state) rate() float64 {
	if s.elapsed < 50*time.Millisecond {
		return 0
	}
	return float64(s.done) / s.elapsed.Seconds()
}

// left is the time to the end at the mean rate; negative is not known.
func (s state) left() time.Duration {
	r := s.rate()
	if r <= 0 || s.total <= 0 {
		return -1
	}
	seconds := float64(max(0, s.total-s.done)) / r
	if seconds > 1000*3600 {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}

func (s state) amount(n int64) string {
	if s.unit == Bytes {
		return GB(n)
	}
	return Count(n)
}

func (s state) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", Escape(s.what), s.amount(s.done))
	if s.total > 0 {
		b.WriteString(" of " + s.amount(s.total))
	}
	if s.unit != Bytes {
		b.WriteString(" " + s.unit)
	}
	if s.total > 0 {
		fmt.Fprintf(&b, "  %d%%", min(100, int64(float64(s.done)/float64(s.total)*100)))
	}
	if r := s.rate(); r > 0 {
		fmt.Fprintf(&b, "  %s/s", s.amount(int64(r)))
	}
	if left := s.left(); left >= 0 {
		fmt.Fprintf(&b, "  %s left", Duration(left.Round(time.Second)))
	}
	return b.String()
}

// report is a line of the mode JSON; what is not known is left out.
type report struct {
	What        string   `json:"what"`
	Unit        string   `json:"unit"`
	Done        int64    `json:"done"`
	Total       int64    `json:"total,omitzero"`
	Seconds     float64  `json:"seconds"`
	Rate        float64  `json:"rate"` // units a second
	SecondsLeft *float64 `json:"seconds_left,omitzero"`
}

func (s state) json() string {
	r := report{What: s.what, Unit: s.unit, Done: s.done, Total: s.total, Seconds: s.elapsed.Seconds(), Rate: s.rate()}
	if left := s.left(); left >= 0 {
		seconds := left.Seconds()
		r.SecondsLeft = &seconds
	}
	out, err := json.Marshal(r)
	if err != nil { // a name that is not UTF-8
		r.What = Escape(s.what)
		out, _ = json.Marshal(r)
	}
	return string(out)
}
