package shard

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ckpt/model"
)

// EstimateSchema is the value of an estimate's "schema" field.
const EstimateSchema = "ckpt.estimate/v1"

// Assumptions of an estimate. None of them follows from the checkpoint.
const (
	// Engines keep buffers, graphs and libraries on a device: 8 % of it, at
	// least 1 GiB. Users of Kimi K3 report 24 to 44 GB a device beside the
	// weights on 288 GB, caches included.
	WorkspacePercent = 8
	LeastWorkspace   = 1 << 30

	// StepTokens is how many tokens an engine computes at once at most: the
	// usual piece of a long prompt.
	StepTokens = 8192

	// A load holds a process and a staging area for each device. Loads of a
	// Kimi K3 on eight devices were measured at 1.0 to 2.7 GiB.
	ProcessMemory = 512 << 20
	StagingMemory = 256 << 20
)

// mostTokens bounds the search where nothing else does.
const mostTokens = 1 << 40

// Demand is what is asked for.
type Demand struct {
	Context   int64 // tokens of each sequence; 0 is the config's own maximum
	Seqs      int64 // sequences at once; 0 is 1
	CacheType CacheType
	Device    string // name, for the document; may be empty
	Memory    int64  // bytes of one device; 0 where it is not known
	MemUtil   Share  // of Memory that may be used; 0 is Whole
	Reserve   Reserve
	Storage   int64 // bytes a second of the storage; 0 where it is not known
	FileBytes int64 // of the weight files
}

// Reserve takes the place of the workspace.
type Reserve struct {
	Set   bool
	Bytes int64
	Share Share // of the device's memory, in place of Bytes where it is not 0
}

// Estimate is whether a model fits: the JSON document of the estimate command.
// What is not known for want of a device is nil.
type Estimate struct {
	Schema     string   `json:"schema"`
	Source     string   `json:"source"`
	Profile    string   `json:"profile"` // whose rules split the weights
	Caches     string   `json:"caches"`  // whose formulas give the caches
	TP         int      `json:"tp"`
	EP         int      `json:"ep"`
	PP         int      `json:"pp"`
	Ranks      int      `json:"ranks"`
	Context    int64    `json:"context"`
	Seqs       int64    `json:"seqs"`
	KVDType    string   `json:"kv_dtype"`
	Device     *string  `json:"device"`
	PerRank    PerRank  `json:"per_rank"` // of the fullest one
	Stage      int      `json:"stage"`    // which it belongs to
	Stages     []Use    `json:"stages"`
	Fits       *bool    `json:"fits"`
	MaxContext *int64   `json:"max_context"` // for so many sequences
	MaxSeqs    *int64   `json:"max_seqs"`    // of this context
	Solved     string   `json:"solved,omitempty"`
	Host       Host     `json:"host"`
	LoadTime   *float64 `json:"load_seconds"` // at the storage's rate, the least
	Inputs     []Input  `json:"inputs"`
	Formulas   []Line   `json:"formulas"`
	Notes      []string `json:"notes"`

	// ConfigMax is the most tokens that the config allows, 0 where it does
	// not say.
	ConfigMax int64 `json:"config_max_context"`
}

// Use is what each rank of a stage holds.
type Use struct {
	Stage     int     `json:"stage"`
	FirstRank int     `json:"first_rank"`
	Ranks     int     `json:"ranks"`
	PerRank   PerRank `json:"per_rank"`
}

// PerRank is what one device holds, in bytes.
type PerRank struct {
	Weights     int64  `json:"weights"`
	Padding     int64  `json:"padding"` // between tensors, for alignment
	KVCache     int64  `json:"kv_cache"`
	MLACache    int64  `json:"mla_cache"`
	Recurrent   int64  `json:"recurrent_state"`
	Conv        int64  `json:"conv_state"`
	Activations int64  `json:"activations"`
	Workspace   int64  `json:"workspace"`
	Total       int64  `json:"total"`
	Memory      *int64 `json:"memory"`
	Headroom    *int64 `json:"headroom"` // memory × mem-util − total
}

// Host is what loading the model takes of the machine, in bytes.
type Host struct {
	RAM  int64 `json:"ram"`
	Disk int64 `json:"disk"`
	// Problems are the warnings about the machine at hand.
	Problems []string `json:"warnings,omitempty"`
}

// estimator holds what does not change while context and sequences do.
type estimator struct {
	plan   *Plan
	memory *model.Memory
	demand Demand
	note   string // of the comparison with headers
}

// NewEstimate adds what the model keeps of its sequences to the weights of a
// plan. Errors: *SplitError where the plan's degrees cut the heads of a cache,
// ErrOverflow, *model.ConfigError where the weights have other layers or heads
// than the config, and where a cache type or the context is impossible. A model
// that does not fit is no error.
func NewEstimate(p *Plan, m *model.Memory, d Demand) (*Estimate, error) {
	e, err := newEstimator(p, m, d)
	if err != nil {
		return nil, err
	}
	return e.estimate()
}

func newEstimator(p *Plan, m *model.Memory, d Demand) (*estimator, error) {
	if d.Seqs == 0 {
		d.Seqs = 1
	}
	if d.MemUtil == 0 {
		d.MemUtil = Whole
	}
	if d.Context == 0 {
		d.Context = m.MaxContext
	}
	if d.Context == 0 {
		return nil, &model.ConfigError{Problems: []model.ConfigProblem{{Field: m.ContextField, Expected: "the most tokens of a sequence",
			Actual: "absent", Msg: m.ContextField + " is missing, and no context is given", Bounds: true}}}
	}
	if d.Context < 0 || d.Seqs < 0 || d.Memory < 0 || d.Storage < 0 || d.MemUtil < 0 || d.MemUtil > Whole ||
		d.Reserve.Bytes < 0 || d.Reserve.Share < 0 || d.Reserve.Share > Whole {
		return nil, errors.New("a size, a count or a share is out of bounds")
	}
	if d.Reserve.Share > 0 && d.Memory == 0 {
		return nil, errors.New("a share is reserved of a device whose memory is not known")
	}
	note, err := compare(p, m)
	if err != nil {
		return nil, err
	}
	return &estimator{p, m, d, note}, nil
}

func (e *estimator) estimate() (*Estimate, error) {
	d := &e.demand
	rank, stage, err := e.fullest(d.Context, d.Seqs)
	if err != nil {
		return nil, err
	}
	ram, err := e.ram()
	if err != nil {
		return nil, err
	}
	t := e.plan.Topology()
	out := &Estimate{Schema: EstimateSchema, Source: e.plan.Source.Path, Profile: e.plan.Profile, Caches: e.memory.Name,
		TP: t.TP, EP: t.EP, PP: t.PP, Ranks: t.Ranks(), Context: d.Context, Seqs: d.Seqs, KVDType: d.CacheType.String(),
		PerRank: rank, Stage: stage, Host: Host{RAM: ram, Disk: d.FileBytes}, ConfigMax: e.memory.MaxContext}
	if d.Device != "" {
		out.Device = &d.Device
	}
	if d.Memory > 0 {
		fits := *rank.Headroom >= 0
		out.Fits = &fits
		out.MaxContext = e.maxContext(d.Seqs)
		out.MaxSeqs = e.maxSeqs(d.Context)
	}
	if d.Storage > 0 {
		seconds := math.Round(float64(e.plan.Totals.Read)/float64(d.Storage)*1000) / 1000
		out.LoadTime = &seconds
	}
	for i := range e.plan.Stages {
		s := &e.plan.Stages[i]
		r, err := e.rank(i, d.Context, d.Seqs)
		if err != nil {
			return nil, err
		}
		out.Stages = append(out.Stages, Use{s.Stage, s.First, s.Ranks, r})
	}
	if out.Formulas, err = e.formulas(stage, rank); err != nil {
		return nil, err
	}
	out.Inputs, out.Notes = e.inputs(), e.notes()
	if e.note != "" {
		out.Notes = append(out.Notes, e.note)
	}
	return out, nil
}

// ram is what the process that loads needs: itself and a staging area for each
// device.
func (e *estimator) ram() (int64, error) {
	staging, err := product(StagingMemory, int64(e.plan.Topology().Ranks()))
	if err != nil {
		return 0, err
	}
	return sum(ProcessMemory, staging)
}

// LoadDuration is LoadTime as a duration, 0 where there is none.
func (e *Estimate) LoadDuration() time.Duration {
	if e.LoadTime == nil || *e.LoadTime > math.MaxInt64/float64(time.Second) {
		return 0
	}
	return time.Duration(*e.LoadTime * float64(time.Second))
}

// fullest is the rank with the largest total, the first of equals.
func (e *estimator) fullest(context, seqs int64) (best PerRank, stage int, err error) {
	for s := range e.plan.Stages {
		r, err := e.rank(s, context, seqs)
		if err != nil {
			return best, 0, err
		}
		if s == 0 || r.Total > best.Total {
			best, stage = r, s
		}
	}
	return best, stage, nil
}

// rank sums what each rank of a stage holds.
func (e *estimator) rank(stage int, context, seqs int64) (r PerRank, err error) {
	s := &e.plan.Stages[stage]
	r.Weights, r.Padding = s.Bytes, s.Arena-s.Bytes
	for i := range e.memory.Caches {
		c := &e.memory.Caches[i]
		n, err := e.cache(c, s, context, seqs)
		if err != nil {
			return r, fmt.Errorf("%s: %w", c.Name, err)
		}
		to := r.term(c.Counts)
		if *to, err = sum(*to, n); err != nil {
			return r, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	for i := range e.memory.Activations {
		a := &e.memory.Activations[i]
		n, err := e.activation(a, context, seqs)
		if err == nil {
			r.Activations, err = sum(r.Activations, n)
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	r.Workspace = e.workspace()
	if r.Total, err = sum(r.Weights, r.Padding, r.KVCache, r.MLACache, r.Recurrent, r.Conv, r.Activations, r.Workspace); err != nil {
		return r, err
	}
	if m := e.demand.Memory; m > 0 {
		headroom := e.demand.MemUtil.of(m) - r.Total
		r.Memory, r.Headroom = &m, &headroom
	}
	return r, nil
}

// term is the line that a cache counts with.
func (r *PerRank) term(t model.Term) *int64 {
	switch t {
	case model.MLACache:
		return &r.MLACache
	case model.RecurrentState:
		return &r.Recurrent
	case model.ConvState:
		return &r.Conv
	}
	return &r.KVCache
}

// workspace is the reserve, or what is assumed.
func (e *estimator) workspace() int64 {
	d := &e.demand
	switch {
	case d.Reserve.Share > 0:
		return d.Reserve.Share.of(d.Memory)
	case d.Reserve.Set:
		return d.Reserve.Bytes
	}
	return max(LeastWorkspace, (Whole / 100 * WorkspacePercent).of(d.Memory))
}
