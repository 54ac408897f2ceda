package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count writes a number with thousands separators: 497,220.
func Count[T ~int | ~int64 | ~uint64 | ~uint32](n T) string {
	var digits [20]byte
	magnitude := uint64(n)
	if n < 0 {
		magnitude = -magnitude
	}
	plain := strconv.AppendUint(digits[:0], magnitude, 10)
	out := make([]byte, 0, 27)
	if n < 0 {
		out = append(out, '-')
	}
	for i, c := range plain {
		if i > 0 && (len(plain)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, c)
	}
	return string(out)
}

// Plural is "1 file", "96 files": the count and the word with an s where the
// count asks for it.
func Plural[T ~int | ~int64 | ~uint64 | ~uint32](n T, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Count(n) + " " + word + "s"
}

// GB writes a byte count in powers of ten, as vendors state memory and disks:
// 1,560.9 GB. GB is the largest unit, so that numbers compare at a glance.
func GB(n int64) string {
	return scaled(n, 1000, []string{"bytes", "kB", "MB", "GB"}, 1)
}

// GiB writes a byte count in powers of two: 1.42 TiB, 183.27 GiB.
func GiB(n int64) string {
	return scaled(n, 1024, []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}, 2)
}

// Size writes a byte count exactly and in both kinds of units:
// 1,560,860,324,864 bytes (1,560.9 GB, 1.42 TiB). Below 1,000 bytes the exact
// count is enough.
func Size(n int64) string {
	exact := Plural(n, "byte")
	if n > -1000 && n < 1000 {
		return exact
	}
	if n > -1024 && n < 1024 {
		return exact + " (" + GB(n) + ")"
	}
	return exact + " (" + GB(n) + ", " + GiB(n) + ")"
}

// Echo says how a typed size was read: 5G = 5,000,000,000 bytes (4.66 GiB).
func Echo(typed string, n int64) string {
	return fmt.Sprintf("%s = %s (%s)", Escape(typed), Plural(n, "byte"), GiB(n))
}

func scaled(n int64, base float64, units []string, digits int) string {
	v, i := float64(n), 0
	for math.Abs(v) >= base && i < len(units)-1 {
		v /= base
		i++
	}
	if i == 0 {
		if n == 1 {
			return "1 byte"
		}
		return Count(n) + " " + units[0]
	}
	// 999.96 kB would be shown as 1,000.0 kB
	if p := math.Pow10(digits); math.Round(math.Abs(v)*p)/p >= base && i < len(units)-1 {
		v /= base
		i++
	}
	return group(strconv.FormatFloat(v, 'f', digits, 64)) + " " + units[i]
}

// group puts thousands separators into the whole part of a decimal number.
func group(s string) string {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return s
	}
	sign := ""
	if n == 0 && strings.HasPrefix(whole, "-") {
		sign = "-"
	}
	return sign + Count(n) + "." + frac
}

// Duration writes a time as people say it: 0.41 s, 5 s, 12 s, 3 min 20 s, 2 h 5 min.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", math.Floor(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}
