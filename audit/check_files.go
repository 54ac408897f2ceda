package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ckpt/checkpoint"
	"ckpt/safetensors"
)

// checkFiles tells what stands in the place of weight files.
func (a *audit) checkFiles() {
	if !a.headers() {
		a.countAbsent()
		return
	}
	for _, f := range a.Files {
		if f.Fault != nil && f.Indexed {
			a.lost++
		}
		if f.Fault != nil {
			a.add(f, a.faultFinding(f)) // what is no weight file need not be in the index
			continue
		}
		if f.Indexed {
			continue
		}
		a.add(f, Finding{ID: "FS013", Expected: "a file of the index", Actual: fmt.Sprintf("%d tensors that it does not name", len(f.Records)),
			Message: "no index names this weight file", Fix: "move it out of the directory if the index is right"})
	}
	a.col.Checked("FS002")
	for _, id := range []string{"FS005", "FS006", "FS007", "FS012", "FS013", "FS019", "FS017", "FS018"} {
		if a.anyOpened() {
			a.col.Checked(id)
		} else {
			a.col.Skip(id, nothingRead)
		}
	}
	a.checkLayout()
}

// countAbsent counts the shards that are not here yet, which at level metadata
// is no finding.
func (a *audit) countAbsent() {
	for _, f := range a.Files {
		if f.Fault != nil && f.Indexed {
			a.lost++
		}
	}
}

// faults are the codes of what stands in a file's place, and what to do.
var faults = map[checkpoint.Reason]struct {
	code    string
	refetch bool
}{
	checkpoint.Missing:     {"FS002", true},
	checkpoint.Dangling:    {"FS009", true},
	checkpoint.NotRegular:  {"FS015", true},
	checkpoint.Unreadable:  {"FS011", false},
	checkpoint.Empty:       {"FS012", true},
	checkpoint.LFSPointer:  {"FS005", true},
	checkpoint.WebPage:     {"FS006", true},
	checkpoint.OtherFormat: {"FS007", true},
	checkpoint.Outside:     {"FS010", false},
	checkpoint.Partial:     {"FS008", true},
	checkpoint.Zeroed:      {"FS019", true},
}

func (a *audit) faultFinding(f *checkpoint.File) Finding {
	fault := faults[f.Fault.Reason]
	if f.Fault.Reason == checkpoint.Unreadable && f.Fault.Err != nil {
		finding := a.unreadable(f.Name, f.Path, f.Fault.Err)
		finding.Refetch = !errors.Is(f.Fault.Err, os.ErrPermission)
		return finding
	}
	finding := Finding{ID: fault.code, Refetch: fault.refetch && f.Indexed && !a.Single, Expected: "a safetensors file",
		Actual: f.Fault.Detail, Message: f.Fault.Msg, Group: f.Fault.Reason.String()}
	switch f.Fault.Reason {
	case checkpoint.NotRegular:
		finding.Fix = "put the file in its place; it was not opened"
	case checkpoint.Outside:
		finding.Message = "weight_map names " + fmt.Sprintf("%q", f.Name) + ", which is no plain file name; it was not opened"
		finding.Fix = "do not use this index; fetch it from the publisher"
	default:
		finding.Fix = a.fetch(f.Name)
	}
	if f.Fault.Reason == checkpoint.Zeroed {
		finding.Fix += "; the rest of the file may be good, and a mirror that gives the same is bad itself"
	}
	return finding
}

// anyOpened says whether any weight file is there and could be looked into.
func (a *audit) anyOpened() bool {
	return slices.ContainsFunc(a.Files, func(f *checkpoint.File) bool { return f.Size > 0 })
}

// checkLayout tells how files lie on the device: fragments and holes.
func (a *audit) checkLayout() {
	for _, f := range a.Files {
		if f.Extents != nil && fragmented(f) {
			a.col.Add(Finding{ID: "FS017", File: f.Name, Actual: fmt.Sprintf("%d pieces", f.Extents.Runs),
				Message: fmt.Sprintf("lies in %d pieces on the device", f.Extents.Runs), Fix: "nothing needs to be done"})
		}
		if f.HolesErr != nil && !errors.Is(f.HolesErr, errors.ErrUnsupported) {
			a.col.Gap("FS018", f.Name+": "+f.HolesErr.Error())
		}
		a.checkHoles(f)
	}
}

// fragmented says whether a file lies in many pieces, small for its size. One
// file of 17 GB in 218 pieces was measured slow in one run and at full speed in
// another.
func fragmented(f *checkpoint.File) bool {
	const many, small = 100, 256 << 20
	return f.Extents.Runs >= many && f.Size/int64(f.Extents.Runs) < small
}

// checkHoles tells of data that were allocated and never written.
func (a *audit) checkHoles(f *checkpoint.File) {
	if len(f.Holes) == 0 || !f.Listed() {
		return // without a header nobody knows where the data are
	}
	bytes := int64(0)
	for _, h := range f.Holes {
		bytes += h.Len
	}
	tensors := touched(f)
	finding := Finding{ID: "FS018", Offset: At(f.Holes[0].Off), Severity: Warning, Group: "holes",
		Expected: "written data", Actual: fmt.Sprintf("%d bytes never written", bytes), Fix: a.fetch(f.Name),
		Message: fmt.Sprintf("%s of %s in %s were allocated and never written", thousands(bytes), plural(f.Size, "byte"), plural(int64(tensors), "tensor"))}
	switch {
	case a.synth:
		finding.Severity = Info
		finding.Fix = "ckpt-synth.json says that ckpt made this directory: its data are meant to be holes"
	case bytes > f.Size/2:
		finding.Severity, finding.Refetch = Error, !a.Single
	}
	if finding.Severity == Info {
		finding.File = f.Name
		a.col.Add(finding)
		return
	}
	a.add(f, finding)
}

// touched counts the tensors that a hole reaches into.
func touched(f *checkpoint.File) int {
	n := 0
	for i := range f.Records {
		r := &f.Records[i]
		// Holes are in order: the first that ends behind the tensor's start
		// decides.
		lo, hi := 0, len(f.Holes)
		for lo < hi {
			mid := (lo + hi) / 2
			if f.Holes[mid].End() > r.Offset {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		if lo < len(f.Holes) && f.Holes[lo].Off < r.Offset+r.Size {
			n++
		}
	}
	return n
}

// formatCodes are the codes of the problems of a header.
var formatCodes = map[safetensors.Kind]string{
	safetensors.TooShort: "ST001", safetensors.HeaderBeyondFile: "ST002", safetensors.HeaderTooLong: "ST003",
	safetensors.NotUTF8: "ST004", safetensors.Syntax: "ST005", safetensors.Duplicate: "ST006",
	safetensors.UnknownDType: "ST007", safetensors.BadOffsets: "ST008", safetensors.SizeMismatch: "ST009",
	safetensors.Overflow: "ST010", safetensors.PartialByte: "ST011", safetensors.BadMetadata: "ST012",
	safetensors.Unaligned: "ST013", safetensors.UnsafeName: "ST014",
	safetensors.Truncated: "FS003", safetensors.Trailing: "FS004",
}

// nothingRead is why checks of headers were not made where there is none.
const nothingRead = "no weight file could be read"

// checkHeaders tells what the headers themselves have wrong.
func (a *audit) checkHeaders() {
	if !a.headers() {
		return
	}
	if !a.anyHeader() {
		for _, id := range []string{"ST*", "FS003", "FS004"} {
			a.col.Skip(id, nothingRead)
		}
		return
	}
	a.col.Checked("ST*", "FS003", "FS004")
	for _, f := range a.Files {
		if f.Header == nil {
			continue
		}
		for _, p := range f.Header.Problems {
			a.addProblem(f, p)
		}
		if f.Header.Dropped > 0 {
			a.col.Note(fmt.Sprintf("%s: %s more problems of the header are not listed", f.Name, thousands(int64(f.Header.Dropped))))
		}
	}
}

func (a *audit) addProblem(f *checkpoint.File, p *safetensors.FormatError) {
	finding := Finding{ID: formatCodes[p.Kind], Tensor: p.Tensor, Offset: At(p.Offset), Message: p.Msg, Group: problemGroup(p)}
	switch p.Kind {
	case safetensors.Unaligned:
		finding.File, finding.Fix = f.Name, "nothing needs to be done; a reader that maps the file copies the data once more"
		a.col.Add(finding)
		return
	case safetensors.UnsafeName:
		finding.Fix = "rename the tensor before names reach a terminal or a shell"
	case safetensors.Truncated:
		finding.Expected, finding.Actual = plural(f.Header.DataEnd, "byte"), plural(f.Size, "byte")
		finding.Message = fmt.Sprintf("the file ends %s early: it has %s of %s", plural(p.Size, "byte"), thousands(f.Size), finding.Expected)
	case safetensors.Trailing:
		finding.Expected, finding.Actual = plural(f.Header.DataEnd, "byte"), plural(f.Size, "byte")
		finding.Message = fmt.Sprintf("%s follow the last tensor, which ends at %s of %s", plural(p.Size, "byte"), thousands(f.Header.DataEnd), finding.Actual)
	}
	if !p.Kind.Legal() {
		finding.Fix, finding.Refetch = a.fetch(f.Name), !a.Single && f.Indexed
	}
	a.add(f, finding)
}

// problemGroup keeps problems apart that differ in more than numbers and names.
func problemGroup(p *safetensors.FormatError) string {
	if p.Kind == safetensors.Syntax {
		return ""
	}
	return formatCodes[p.Kind]
}

// checkDirectory judges what lies beside the weight files.
func (a *audit) checkDirectory() {
	a.checkLinks()
	a.checkCase()
	a.checkPartials()
	a.checkPickles()
	a.col.Checked("FS001", "FS008", "FS009", "FS010", "FS011", "FS014", "FS015", "FS020", "SE002")
}

// checkLinks tells of links that lead nowhere or elsewhere.
func (a *audit) checkLinks() {
	for i := range a.Entries {
		e := &a.Entries[i]
		_, weight := a.File(e.Name)
		switch {
		case e.Link == checkpoint.BrokenLink && !weight:
			a.col.Add(Finding{ID: "FS009", File: e.Name, Actual: e.Target, Refetch: true, Group: checkpoint.Dangling.String(),
				Message: "the link leads to " + e.Target + ", where there is nothing", Fix: a.fetch(e.Name)})
		case e.Link == checkpoint.OutsideLink && e.Regular():
			a.col.Add(Finding{ID: "FS020", File: e.Name, Actual: e.Target, Group: "outside",
				Message: "a link to " + e.Target + ", outside the directory", Fix: "nothing needs to be done if the target is meant"})
		}
	}
}

func (a *audit) checkCase() {
	first := map[string]string{}
	for i := range a.Entries {
		name := a.Entries[i].Name
		fold := strings.ToLower(name)
		if other, ok := first[fold]; ok {
			a.col.Add(Finding{ID: "FS014", File: name, Expected: "one spelling", Actual: other,
				Message: fmt.Sprintf("differs from %q only in case", other), Fix: "keep the one that the index names"})
			continue
		}
		first[fold] = name
	}
}

// downloads is where the hub's client keeps what is under way.
const downloads = ".cache/huggingface/download"

// checkPartials tells of downloads that were left lying.
func (a *audit) checkPartials() {
	if a.Single || !a.headers() {
		return
	}
	var left []string
	for i := range a.Entries {
		if name := a.Entries[i].Name; checkpoint.PartialOf(name) != "" && !a.Entries[i].Mode.IsDir() {
			left = append(left, name)
		}
	}
	if list, err := os.ReadDir(filepath.Join(a.Dir, downloads)); err == nil {
		for _, d := range list {
			if strings.HasSuffix(d.Name(), ".incomplete") {
				left = append(left, downloads+"/"+d.Name())
			}
		}
	}
	inPlace := map[string]bool{}
	whole := true
	for _, f := range a.Files {
		whole = whole && (!f.Indexed || f.Usable())
		if f.Fault != nil && f.Indexed && f.Fault.Reason == checkpoint.Partial {
			inPlace[f.Fault.Detail] = true
		}
	}
	for _, name := range left {
		if inPlace[name] {
			continue // the shard that it stands for is named
		}
		finding := Finding{ID: "FS008", File: name, Severity: Warning, Message: "a partial download lies beside the set",
			Fix: "delete it once no downloader runs"}
		if !whole && a.maybeWeights(name) {
			finding.Severity, finding.Message = Error, "a download has not ended, and the set is not whole"
			finding.Fix = "run the download again: it resumes"
		}
		a.col.Add(finding)
	}
}

// maybeWeights says whether a partial download may be that of a weight file:
// in the client's own folder names tell nothing.
func (a *audit) maybeWeights(partial string) bool {
	whole := checkpoint.PartialOf(partial)
	_, known := a.File(whole)
	return known || strings.HasPrefix(partial, downloads) || filepath.Ext(whole) == ""
}

// pickleSuffixes are the names under which PyTorch saves pickles.
var pickleSuffixes = []string{".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"}

func (a *audit) checkPickles() {
	for i := range a.Entries {
		e := &a.Entries[i]
		for _, suffix := range pickleSuffixes {
			if strings.HasSuffix(strings.ToLower(e.Name), suffix) && e.Regular() {
				a.col.Add(Finding{ID: "SE002", File: e.Name, Message: "a pickle lies beside the weights: who loads it runs its code",
					Fix: "move it out of the directory; the safetensors files are enough"})
			}
		}
	}
}
