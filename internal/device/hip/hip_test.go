package hip

import (
	"errors"
	"strings"
	"testing"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// The library of a machine without a device answers hipErrorNoDevice, which
// is told from a library that is not there.
func TestNoDeviceIsSaid(t *testing.T) {
	r, err := Open()
	if err == nil {
		if len(r.Devices()) == 0 {
			t.Fatal("a runtime without devices")
		}
		t.Skip("there is a device")
	}
	var missing *dl.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	var e *Error
	if !errors.Is(err, device.ErrNoDevice) || !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e.Code != errorNoDevice || e.Name != "hipErrorNoDevice" || !strings.Contains(err.Error(), "libamdhip64") {
		t.Error(err)
	}
}
