//go:build !unix

package audit

func errnoText(err error) string { return err.Error() }
