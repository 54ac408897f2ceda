package audit

import (
	"encoding/hex"
	"fmt"

	"ckpt/model"
)

// checkRelease compares bytes with the official release, where the config has
// its sizes.
func (a *audit) checkRelease() {
	release := a.release()
	if release == nil {
		if a.in != nil {
			reason := "not of the release's sizes"
			if a.fit.Profile.Release == nil {
				reason = "the profile records no release"
			}
			a.col.Skip("MD007", reason)
			a.col.Skip("MD008", reason)
		}
		if a.config != nil {
			a.col.Skip("CF006", "no official config.json to compare with")
		}
		return
	}
	a.checkOfficialConfig(release)
	a.checkOfficialBytes(release)
	a.checkTotals(release)
}

func (a *audit) checkOfficialConfig(release *model.Release) {
	if release.ConfigSHA256 == "" {
		a.col.Skip("CF006", "the profile records no hash of config.json")
		return
	}
	a.col.Checked("CF006")
	if a.col.Found("CF002", "CF003") {
		a.col.Skip("CF006", "the config differs in what it says, as other findings say")
		return
	}
	if sum := hex.EncodeToString(a.Checkpoint.Config.SHA256[:]); sum != release.ConfigSHA256 {
		a.col.Add(Finding{ID: "CF006", File: "config.json", Expected: release.ConfigSHA256, Actual: sum,
			Message: "the sizes are the release's, the bytes are not", Fix: a.fetch("config.json")})
	}
}

// checkOfficialBytes compares headers and index. A file of which something was
// found differs anyway.
func (a *audit) checkOfficialBytes(release *model.Release) {
	a.col.Checked("MD008")
	if a.indexUsable() && release.IndexSHA256 != "" && a.disagree == 0 && len(a.Index.Problems)+len(a.Index.Duplicates) == 0 {
		if sum := hex.EncodeToString(a.Index.SHA256[:]); sum != release.IndexSHA256 {
			a.col.Add(Finding{ID: "MD008", File: a.Index.Name, Expected: release.IndexSHA256, Actual: sum, Group: "index",
				Message: "the index is not byte-identical to the official one", Fix: "nothing needs to be done if the findings above are none"})
		}
	}
	if !a.headers() {
		return
	}
	for _, f := range a.Files {
		if f.Fault != nil || !f.Indexed || a.tainted[f] {
			continue
		}
		want, ok := release.File(f.Name)
		sum := hex.EncodeToString(f.Header.SHA256[:])
		if !ok || want.HeaderSHA256 == "" || want.HeaderSHA256 == sum {
			continue
		}
		a.col.Add(Finding{ID: "MD008", File: f.Name, Expected: want.HeaderSHA256, Actual: sum, Group: "headers",
			Message: "the header is not byte-identical to the official one", Fix: a.fetch(f.Name)})
	}
}

func (a *audit) indexUsable() bool { return a.Index != nil && a.Index.Err == nil }

// sameBytes says how much of the release is here to the byte, for the verdict.
func (a *audit) sameBytes() string {
	release := a.release()
	if !a.headers() || len(release.Files) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d headers official)", a.officialHeaders(release), len(release.Files))
}

// officialHeaders counts the files that have the release's header and size.
func (a *audit) officialHeaders(release *model.Release) (n int) {
	for _, f := range a.Files {
		want, ok := release.File(f.Name)
		if ok && f.Header != nil && want.HeaderSHA256 == hex.EncodeToString(f.Header.SHA256[:]) && want.Bytes == f.Size {
			n++
		}
	}
	return n
}

// checkTotals compares sums with the release, where nothing else explains why
// they differ.
func (a *audit) checkTotals(release *model.Release) {
	if reason := a.totalsExplained(); reason != "" {
		a.col.Skip("MD007", reason)
		return
	}
	a.col.Checked("MD007")
	t := &release.Totals
	have := []struct {
		what       string
		have, want int64
		known      bool
	}{
		{"tensors", a.census.tensors, t.Tensors, a.headers() || a.indexUsable()},
		{"language tensors", a.census.language, t.LanguageTensors, a.headers() || a.indexUsable()},
		{"expert tensors", a.census.experts, t.ExpertTensors, a.headers() || a.indexUsable()},
		{"bytes of tensors", a.census.bytes, t.TotalSize, a.headers()},
		{"bytes of text tensors", a.census.text, t.TextBytes, a.headers()},
		{"files", int64(a.weightFiles()), t.Files, a.headers() || a.indexUsable()},
		{"bytes by the index", a.statedTotal(), t.TotalSize, !a.headers() && a.statedTotal() > 0},
	}
	for _, h := range have {
		if h.known && h.want > 0 && h.have != h.want {
			a.col.Add(Finding{ID: "MD007", File: a.statedBy(), Refetch: !a.headers(), Expected: thousands(h.want), Actual: thousands(h.have), Group: h.what,
				Message: fmt.Sprintf("%s %s; %s has %s", thousands(h.have), h.what, a.title(), thousands(h.want)),
				Fix:     "fetch the index again, and see whether a newer revision is meant"})
		}
	}
}

// statedBy is the file from which the totals come where it is the index alone.
func (a *audit) statedBy() string {
	if a.headers() || a.Index == nil {
		return ""
	}
	return a.Index.Name
}

func (a *audit) weightFiles() int {
	n := 0
	for _, f := range a.Files {
		if f.Indexed {
			n++
		}
	}
	return n
}

func (a *audit) statedTotal() int64 {
	if a.indexUsable() && a.Index.HasTotalSize {
		return a.Index.TotalSize
	}
	return 0
}

// totalsExplained says which other finding makes the totals differ.
func (a *audit) totalsExplained() string {
	switch {
	case a.headers() && a.lost > 0:
		return "files are missing or cannot be read"
	case a.disagree > 0:
		return "index and shards disagree"
	case a.col.Found("MD001", "MD002", "MD003", "MD004", "MD005", "QT001", "QT002", "QT003", "QT004", "IX001", "IX002"):
		return "tensors are missing, surplus or of another kind, as other findings say"
	case a.headers() && a.unlisted():
		return "files are not whole and valid, as other findings say"
	}
	for _, f := range a.Files {
		if a.headers() && f.Indexed && !f.Usable() {
			return "files are not whole and valid, as other findings say"
		}
	}
	return ""
}
