//go:build nogpu

package dl

const unsupported = "built without devices (build tag nogpu)"
