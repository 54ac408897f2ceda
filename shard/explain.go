package shard

import (
	"fmt"
	"strings"

	"ckpt/model"
)

// Line is how one number of an estimate comes about.
type Line struct {
	Term    string `json:"term"` // of per_rank or host
	Name    string `json:"name"`
	Text    string `json:"formula"`
	Values  string `json:"values"` // the same with numbers
	Bytes   int64  `json:"bytes"`
	Assumed bool   `json:"assumed"` // it does not follow from the checkpoint
	Note    string `json:"note,omitempty"`
}

// Input is a value that the numbers follow from.
type Input struct {
	Name   string `json:"name"`
	Value  any    `json:"value"` // int64, []int64 or string
	Source string `json:"source"`
}

// formulas explains every line of the fullest rank.
func (e *estimator) formulas(stage int, r PerRank) ([]Line, error) {
	s := &e.plan.Stages[stage]
	out := []Line{
		{Term: "weights", Name: "weights", Text: "bytes of the fullest rank of the plan", Values: e.plan.Topology().String(), Bytes: r.Weights},
		{Term: "padding", Name: "padding", Text: fmt.Sprintf("each tensor begins at a multiple of %d bytes", Alignment), Values: e.plan.Topology().String(), Bytes: r.Padding},
	}
	for i := range e.memory.Caches {
		line, err := e.cacheLine(&e.memory.Caches[i], s)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	for i := range e.memory.Activations {
		a := &e.memory.Activations[i]
		n, err := e.activation(a, e.demand.Context, e.demand.Seqs)
		if err != nil {
			return nil, err
		}
		text, count := "sequences", e.demand.Seqs
		if a.PerStep {
			text, count = fmt.Sprintf("min(%d, tokens × sequences)", StepTokens), passing(a, e.demand.Context, e.demand.Seqs)
		}
		size := sizeText(a.DType.Bits(), a.DType.Block(), a.DType.BlockBytes())
		out = append(out, Line{Term: "activations", Name: a.Name, Text: joined(text, braced(a.Text.Text), "bytes"),
			Values: joined(fmt.Sprint(count), braced(a.Text.Values), size), Bytes: n, Assumed: true, Note: a.Note})
	}
	return append(out, e.workspaceLine(r.Workspace), e.ramLine()), nil
}

func (e *estimator) cacheLine(c *model.Cache, s *Stage) (Line, error) {
	n, err := e.cache(c, s, e.demand.Context, e.demand.Seqs)
	if err != nil {
		return Line{}, err
	}
	heads, err := e.heads(c)
	if err != nil {
		return Line{}, err
	}
	line := Line{Term: string(c.Counts), Name: c.Name, Bytes: n, Note: c.Note}
	texts := []string{"layers"}
	values := []string{fmt.Sprint(stageLayers(c.Layers, s, len(e.plan.Stages)))}
	add := func(text, value string) { texts, values = append(texts, text), append(values, value) }
	if c.Heads > 0 {
		add("heads a rank", fmt.Sprint(heads))
		if copies := int64(e.plan.TP) * heads / c.Heads; copies > 1 {
			line.Note = strings.TrimPrefix(fmt.Sprintf("%s; %d heads on %d ranks: each is kept %d times", line.Note, c.Heads, e.plan.TP, copies), "; ")
		}
	}
	t := e.cacheType(c)
	add(braced(c.ElementsText.Text), braced(c.ElementsText.Values))
	add("bytes", sizeText(t.Bits(), t.Block(), t.BlockBytes()))
	switch tokens := fmt.Sprint(cachedTokens(c, e.demand.Context)); {
	case c.PerToken && c.Window > 0:
		add(fmt.Sprintf("min(%d, tokens)", c.Window), tokens)
	case c.PerToken:
		add("tokens", tokens)
	}
	add("sequences", fmt.Sprint(e.demand.Seqs))
	line.Text, line.Values = joined(texts...), joined(values...)
	return line, nil
}

func (e *estimator) workspaceLine(bytes int64) Line {
	line := Line{Term: "workspace", Name: "workspace", Bytes: bytes, Assumed: true}
	d := &e.demand
	switch {
	case d.Reserve.Share > 0:
		line.Text, line.Values = "the reserve × memory", fmt.Sprintf("%s × %d", d.Reserve.Share.String(), d.Memory)
		line.Note = "as asked for"
	case d.Reserve.Set:
		line.Text, line.Values, line.Note = "the reserve", fmt.Sprint(d.Reserve.Bytes), "as asked for"
	default:
		line.Text = fmt.Sprintf("max(%d, %d %% of memory)", int64(LeastWorkspace), WorkspacePercent)
		line.Values = fmt.Sprintf("max(%d, %d)", int64(LeastWorkspace), (Whole / 100 * WorkspacePercent).of(d.Memory))
		line.Note = "assumed: buffers, graphs and libraries of the engine"
	}
	return line
}

func (e *estimator) ramLine() Line {
	ram, _ := e.ram()
	ranks := e.plan.Topology().Ranks()
	return Line{Term: "ram", Name: "host memory of a load", Text: "the process + staging × ranks",
		Values: fmt.Sprintf("%d + %d × %d", int64(ProcessMemory), int64(StagingMemory), ranks), Bytes: ram, Assumed: true,
		Note: "assumed: where one process on one host loads all ranks"}
}

// String writes a share as people type it: 12.5%.
func (s Share) String() string {
	text := fmt.Sprintf("%d.%07d", s/(Whole/100), s%(Whole/100))
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
}

// joined writes a product.
func joined(factors ...string) string { return strings.Join(factors, " × ") }

// braced puts parentheses around a sum, and spells products as joined does.
func braced(text string) string {
	depth, isSum := 0, false
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '+', '-':
			isSum = isSum || depth == 0
		}
	}
	text = strings.ReplaceAll(text, " * ", " × ")
	if isSum {
		return "(" + text + ")"
	}
	return text
}

// sizeText is the bytes of an element, as a fraction for blocks.
func sizeText(bits, block, blockBytes int) string {
	if block > 1 {
		return fmt.Sprintf("%d / %d", blockBytes, block)
	}
	return fmt.Sprint(bits / 8)
}

// inputs lists what was asked for and what the config says.
func (e *estimator) inputs() []Input {
	d := &e.demand
	list := []Input{
		{"tp", int64(e.plan.TP), "--tp"}, {"ep", int64(e.plan.EP), "--ep"}, {"pp", int64(e.plan.PP), "--pp"},
		{"tokens", d.Context, "--context"}, {"sequences", d.Seqs, "--seqs"}, {"kv_dtype", d.CacheType.String(), "--kv-dtype"},
	}
	if d.Context == e.memory.MaxContext {
		list[3].Source = e.memory.ContextField
	}
	if d.Memory > 0 {
		source := "--memory"
		if d.Device != "" {
			source = d.Device
		}
		list = append(list, Input{"memory", d.Memory, source}, Input{"mem_util", d.MemUtil.String(), "--mem-util"})
	}
	if d.Storage > 0 {
		list = append(list, Input{"storage", d.Storage, "--storage"}, Input{"read", e.plan.Totals.Read, "the plan: wanted bytes, each once"})
	}
	for _, in := range e.memory.Inputs {
		value := any(in.Value)
		if in.List != nil {
			value = in.List
		}
		list = append(list, Input{in.Name, value, in.Source})
	}
	return list
}

// notes say what a reader should know of the numbers.
func (e *estimator) notes() []string {
	notes := []string{}
	d := &e.demand
	notes = append(notes, e.plan.Notes...)
	if m := e.memory.MaxContext; m > 0 && d.Context > m {
		notes = append(notes, fmt.Sprintf("a context of %d tokens is beyond the config's own maximum of %d (%s)", d.Context, m, e.memory.ContextField))
	}
	if e.plan.EP > e.plan.TP {
		notes = append(notes, fmt.Sprintf("with EP %d above TP %d every group of %d ranks is taken to keep all sequences", e.plan.EP, e.plan.TP, e.plan.TP))
	}
	if e.plan.PP > 1 {
		notes = append(notes, fmt.Sprintf("of %d pipeline stages the fullest is shown", e.plan.PP))
	}
	return notes
}
