package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ckpt/checkpoint"
	ckptfs "ckpt/internal/fs"
	"ckpt/safetensors"
)

// checkIndex judges the index in itself, or the set that has none.
func (a *audit) checkIndex() {
	if a.Single {
		return
	}
	if a.Index == nil {
		for _, id := range []string{"IX001", "IX002", "IX003", "IX004", "IX006"} {
			a.col.Skip(id, "there is no index")
		}
		a.checkNumbers()
		a.checkNoIndex()
		return
	}
	a.col.Skip("IX008", "there is an index")
	if a.Index.Err != nil {
		a.badDocument(a.Index.Name, a.Index.Err, "IX001")
		for _, id := range []string{"IX002", "IX003", "IX004", "IX006"} {
			a.col.Skip(id, "the index cannot be read")
		}
		a.checkNumbers()
		return
	}
	a.col.Skip("IX007", "an index names the files")
	a.col.Checked("IX001", "IX002")
	for _, p := range a.Index.Problems {
		id := "IX001"
		if p.Kind == safetensors.Duplicate {
			id = "IX002"
		}
		a.col.Add(Finding{ID: id, File: a.Index.Name, Tensor: p.Tensor, Offset: At(p.Offset), Message: p.Msg, Fix: a.fetch(a.Index.Name), Refetch: true})
	}
	for _, d := range a.Index.Duplicates {
		first, _ := a.Index.Find(d.Key)
		a.col.Add(Finding{ID: "IX002", File: a.Index.Name, Tensor: a.Names.Name(d.Key), Refetch: true, Group: "names",
			Message: "the weight map names it twice", Expected: a.Index.Files[first.File], Actual: a.Index.Files[d.File], Fix: a.fetch(a.Index.Name)})
	}
	if a.headers() {
		return
	}
	a.outsideNames()
}

// outsideNames tells, where files are not looked at, of names that leave the
// directory.
func (a *audit) outsideNames() {
	for _, f := range a.Files {
		if f.Fault != nil && f.Fault.Reason == checkpoint.Outside {
			a.add(f, a.faultFinding(f))
		}
	}
}

// badDocument tells why the index or the config cannot be used: what stands in
// its place, or the code for what is wrong with it.
func (a *audit) badDocument(name string, err error, code string) {
	var irregular *ckptfs.NotRegularError
	var format *safetensors.FormatError
	f := Finding{File: name, Refetch: true, Fix: a.fetch(name)}
	switch {
	case a.dangles(name):
		return // the link is named
	case errors.As(err, &irregular):
		f.ID, f.Message, f.Actual, f.Refetch = "FS015", "not a regular file but a "+irregular.Kind(), irregular.Kind(), false
		f.Fix = "put the file in its place; it was not opened"
	case errors.As(err, &format):
		f.ID, f.Message, f.Offset = code, format.Msg, At(format.Offset)
		if a.Index != nil && name == a.Index.Name && a.Index.Size == 0 {
			f.ID, f.Message, f.Offset = "FS012", "the file is empty", nil
		}
		if fault := a.pretender(name); fault != nil {
			f.ID, f.Message, f.Actual, f.Offset = faults[fault.Reason].code, fault.Msg, fault.Detail, nil
		}
	default:
		f = a.unreadable(name, filepath.Join(a.Dir, name), err)
	}
	a.col.Add(f)
}

func (a *audit) dangles(name string) bool {
	for i := range a.Entries {
		if a.Entries[i].Name == name {
			return a.Entries[i].Link == checkpoint.BrokenLink
		}
	}
	return false
}

// pretender tells what stands in the place of a JSON document.
func (a *audit) pretender(name string) *checkpoint.Fault {
	head, err := ckptfs.ReadHead(filepath.Join(a.Dir, name), 512)
	if err != nil {
		head = nil // what does not parse was read before: its own error stands
	}
	return checkpoint.Pretender(head)
}

// checkNoIndex tells that nothing says which of several files belong here.
func (a *audit) checkNoIndex() {
	a.col.Checked("IX008")
	if a.headers() && len(a.Files) > 1 {
		a.col.Add(Finding{ID: "IX008", Actual: plural(int64(len(a.Files)), "file"),
			Message: fmt.Sprintf("%d weight files and no index", len(a.Files)), Fix: "fetch model.safetensors.index.json, or load every file"})
	}
}

// checkNumbers judges a set of which no index speaks by the numbers in its
// names.
func (a *audit) checkNumbers() {
	a.col.Checked("IX007")
	if !a.headers() {
		return
	}
	sets := map[string]*numberedSet{}
	for _, f := range a.Files {
		part, ok := checkpoint.PartOf(f.Name)
		if !ok {
			continue
		}
		key := fmt.Sprintf("%s/%d", part.Stem, part.Of)
		if sets[key] == nil {
			sets[key] = &numberedSet{part: part, have: map[int]bool{}}
		}
		sets[key].have[part.No] = true
	}
	for _, s := range sets {
		a.checkSet(s)
	}
}

type numberedSet struct {
	part checkpoint.Part
	have map[int]bool
}

// bounds are from where to where the set counts: from 1, or from 0 where number 0
// is there and the last one is not.
func (s *numberedSet) bounds() (first, last int) {
	if s.have[0] && !s.have[s.part.Of] {
		return 0, s.part.Of - 1
	}
	return 1, s.part.Of
}

// checkSet names the missing numbers of a set. A count from a file name is no
// reason to loop a billion times.
func (a *audit) checkSet(s *numberedSet) {
	first, last := s.bounds()
	missing := s.part.Of
	for no := range s.have {
		if first <= no && no <= last {
			missing--
		}
	}
	const most = 10_000 // of all sets: file names cost nothing and may claim millions
	told := 0
	for no := first; no <= last && told < missing && a.unnamed < most; no++ {
		if s.have[no] {
			continue
		}
		told++
		name := s.part.Name(no)
		a.lost++
		a.unnamed++
		a.col.Add(Finding{ID: "IX007", File: name, Expected: plural(int64(s.part.Of), "file"), Actual: plural(int64(s.part.Of-missing), "file"),
			Message: fmt.Sprintf("number %d of %d is missing", no, s.part.Of), Refetch: true, Fix: a.fetch(name)})
	}
	if missing > told {
		a.lost += missing - told
		a.unnamed += missing - told
		a.col.Add(Finding{ID: "IX007", File: s.part.Name(s.part.Of), Count: missing - told, Group: "rest",
			Message: fmt.Sprintf("%s more numbers of %s are missing", thousands(int64(missing-told)), thousands(int64(s.part.Of)))})
	}
}

// checkDifferences compares the index with the shards and sums the bytes.
func (a *audit) checkDifferences() {
	if !a.headers() || a.Single {
		return
	}
	for _, id := range []string{"IX003", "IX004", "IX005"} {
		switch {
		case !a.anyHeader():
			a.col.Skip(id, nothingRead)
		case id == "IX005" || a.indexUsable():
			a.col.Checked(id)
		}
	}
	told := a.toldOfIndex()
	for d := range a.Differences() {
		a.disagree++
		if !told[d.Name] {
			a.addDifference(d)
		}
	}
	a.checkTotal()
}

// toldOfIndex are the tensors of which the index says two things, or nothing
// that could be a file: IX001 and IX002 tell of them, and what the shards have
// instead is no second fault.
func (a *audit) toldOfIndex() map[string]bool {
	told := map[string]bool{}
	if !a.indexUsable() {
		return told
	}
	for _, p := range a.Index.Problems {
		if p.Named {
			told[p.Tensor] = true
		}
	}
	for _, d := range a.Index.Duplicates {
		told[a.Names.Name(d.Key)] = true
	}
	return told
}

func (a *audit) addDifference(d *checkpoint.Difference) {
	f := Finding{Tensor: d.Name, Group: "differ"}
	switch d.Kind {
	case checkpoint.NotInShard:
		f.ID, f.Expected, f.Actual, f.Message = "IX003", d.File.Name, "absent", "the index gives it to this file, which lacks it"
		f.Fix, f.Refetch = a.fetch(d.File.Name, a.Index.Name), true
		if d.Other != nil {
			f.Actual, f.Message, f.Group = d.Other.Name, "the index gives it to this file, but it is in "+d.Other.Name, "elsewhere"
			f.Refetch, f.Fix = false, a.fetch(a.Index.Name)
		}
	case checkpoint.NotInIndex:
		f.ID, f.Offset, f.Expected, f.Message = "IX004", At(d.At), "in the index", "the file holds it and the index does not name it"
		f.Fix = a.fetch(a.Index.Name)
	case checkpoint.Twice:
		f.ID, f.Offset, f.Expected, f.Actual = "IX005", At(d.At), "in one file", d.Other.Name
		f.Message, f.Fix = "it is also in "+d.Other.Name, a.fetch(d.File.Name, d.Other.Name)
		if a.Index == nil {
			f.Fix = "find out which of the files belongs here; two splits may lie side by side"
		}
	}
	a.add(d.File, f)
}

// checkTotal compares total_size with the bytes of all tensors, where they are
// all known.
func (a *audit) checkTotal() {
	if a.Index == nil || a.Index.Err != nil {
		return
	}
	if !a.Index.HasTotalSize {
		a.col.Skip("IX006", "the index states no total_size")
		return
	}
	if a.lost > 0 || a.disagree > 0 {
		a.col.Skip("IX006", "the bytes cannot be added up: files or tensors are missing or surplus, as other findings say")
		return
	}
	sum := int64(0)
	for _, f := range a.Files {
		if !f.Indexed {
			continue
		}
		if !f.Usable() {
			a.col.Skip("IX006", "the bytes cannot be added up: "+f.Name+" is not whole and valid")
			return
		}
		for i := range f.Records {
			sum += f.Records[i].Size
		}
	}
	a.col.Checked("IX006")
	if sum != a.Index.TotalSize {
		a.col.Add(Finding{ID: "IX006", File: a.Index.Name, Expected: fmt.Sprint(sum), Actual: fmt.Sprint(a.Index.TotalSize),
			Message: fmt.Sprintf("metadata.total_size is %s; the tensors take %s bytes", thousands(a.Index.TotalSize), thousands(sum)),
			Fix:     a.fetch(a.Index.Name), Refetch: true})
	}
}

// names joins a few names for a message.
func namesOf(list []string) string {
	const shown = 3
	if len(list) > shown {
		return strings.Join(list[:shown], ", ") + fmt.Sprintf(" and %d more", len(list)-shown)
	}
	return strings.Join(list, ", ")
}
