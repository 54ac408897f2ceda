package dl

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

func libc(t *testing.T) *Library {
	t.Helper()
	if unsupported != "" {
		t.Skip(unsupported)
	}
	names := map[string][]string{
		"linux":  {"libnothing-of-the-kind.so.9", "libc.so.6"},
		"darwin": {"/usr/lib/libSystem.B.dylib"},
	}[runtime.GOOS]
	if names == nil {
		t.Skip("no C library is known of " + runtime.GOOS)
	}
	l, err := Open(names...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOpenTakesTheFirstThatIsThere(t *testing.T) {
	l := libc(t)
	var strlen, getenv Proc
	if err := l.Bind([]Symbol{{"strlen", &strlen}, {"getenv", &getenv}}); err != nil {
		t.Fatal(err)
	}
	text := []byte("seven b\x00")
	if n := strlen.Call(uintptr(unsafe.Pointer(&text[0]))); n != 7 {
		t.Errorf("strlen: %d", n)
	}
	name := []byte("PATH\x00")
	if got := String(getenv.Call(uintptr(unsafe.Pointer(&name[0])))); got == "" {
		t.Error("no PATH")
	}
}

func TestOpenNamesWhatIsNotThere(t *testing.T) {
	_, err := Open("libnothing-of-the-kind.so.9", "libneither.so")
	if unsupported != "" {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), unsupported) {
			t.Fatal(err)
		}
		return
	}
	var missing *NotFoundError
	if !errors.As(err, &missing) || missing.Reason == "" {
		t.Fatalf("%v", err)
	}
	for _, name := range []string{"libnothing-of-the-kind.so.9", "libneither.so"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// A missing function is an error before the first call, not a panic in it.
func TestBindNamesTheMissingFunction(t *testing.T) {
	l := libc(t)
	var strlen, none Proc
	err := l.Bind([]Symbol{{"strlen", &strlen}, {"strlen_of_tomorrow", &none}})
	var missing *SymbolError
	if !errors.As(err, &missing) || missing.Symbol != "strlen_of_tomorrow" || missing.Library != l.Name() {
		t.Fatalf("%v", err)
	}
}

func TestText(t *testing.T) {
	b := []byte("abc\x00def")
	if got := Text(&b[0]); got != "abc" {
		t.Errorf("%q", got)
	}
	if Text(nil) != "" || String(0) != "" {
		t.Error("nothing is not the empty string")
	}
}

func BenchmarkCall(b *testing.B) {
	if unsupported != "" || runtime.GOOS != "linux" {
		b.Skip("needs libc.so.6")
	}
	l, err := Open("libc.so.6")
	if err != nil {
		b.Fatal(err)
	}
	getpid := l.Lookup("getppid")
	for b.Loop() {
		getpid.Call()
	}
}
