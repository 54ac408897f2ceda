package audit

import "fmt"

// Schema names the form of a report in JSON.
const Schema = "ckpt.audit/v1"

// Verdict is what an audit says of what was asked.
type Verdict string

// The verdicts.
const (
	Pass       Verdict = "pass"
	Fail       Verdict = "fail"       // an error stands
	Incomplete Verdict = "incomplete" // none does, but a check asked for could not be made
)

// Status is how one check ended.
type Status string

// The ends of a check.
const (
	StatusPass Status = "pass" // made, and nothing above an info stands
	StatusWarn Status = "warn" // a warning stands
	StatusFail Status = "fail" // an error stands
	StatusSkip Status = "skip" // not made, with the reason
)

// Report is the outcome of an audit. Names in it are exact, bytes that are not
// UTF-8 included; JSON shows those as U+FFFD with the bytes in hex beside.
type Report struct {
	Schema   string    `json:"schema"`
	Path     string    `json:"path"`
	PathHex  string    `json:"path_hex,omitempty"`
	Dir      string    `json:"-"`        // the directory to which the files of findings are relative
	Format   string    `json:"format"`   // safetensors, gguf, or "" when neither was recognised
	Profile  string    `json:"profile"`  // "" when none was used
	Identity string    `json:"identity"` // what the checkpoint is, in a few words for people
	Level    Level     `json:"level"`
	FailOn   Severity  `json:"fail_on"`
	Verdict  Verdict   `json:"verdict"`
	Summary  Summary   `json:"summary"`
	Stats    Stats     `json:"stats"`
	Checks   []Check   `json:"checks"`  // every code, in the order of the contract
	Refetch  []string  `json:"refetch"` // files to fetch again, in natural order
	Findings []Finding `json:"findings"`
	Ignore   []RuleUse `json:"ignore"` // every entry of the ignore list
	Waived   []string  `json:"waived"` // what the command line left out, in words
	Notes    []string  `json:"notes"`
}

// Summary counts. Errors, warnings and infos are instances that count, so a group
// of 128 missing tensors is 128 errors; passed and skipped are checks.
type Summary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	Passed   int `json:"passed"`
	Skipped  int `json:"skipped"`
	Ignored  int `json:"ignored"` // instances that do not count
	Gaps     int `json:"gaps"`    // checks that were asked for and could not be made
}

// Stats are the sizes of a checkpoint; nil is what the level cannot know.
type Stats struct {
	Tensors         *int64 `json:"tensors"`
	LanguageTensors *int64 `json:"language_tensors"`
	ExpertTensors   *int64 `json:"expert_tensors"`
	Shards          *int64 `json:"shards"`
	MissingShards   *int64 `json:"missing_shards"`
	TotalSize       *int64 `json:"total_size"` // bytes of all tensors
	FileBytes       *int64 `json:"file_bytes"` // bytes of all weight files
	TextBytes       *int64 `json:"text_bytes"` // bytes of the language model's tensors
}

// Check is one code and how its check ended.
type Check struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status Status `json:"status"`
	Reason string `json:"reason"` // of a skip, a gap, or of a pass in spite of findings
	Gap    bool   `json:"gap"`    // asked for, and not made to its end
}

// Exit statuses of a command that follows the verdict.
const (
	exitPass = 0
	exitFail = 3
)

// ExitStatus is what the process has to end with: 0 for a pass, else 3.
func (r *Report) ExitStatus() int {
	if r.Verdict == Pass {
		return exitPass
	}
	return exitFail
}

// Gaps gives the checks that were asked for and could not be made.
func (r *Report) Gaps() []Check {
	var gaps []Check
	for _, c := range r.Checks {
		if c.Gap {
			gaps = append(gaps, c)
		}
	}
	return gaps
}

func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %ss", thousands(n), one)
}
