// Command gendocs writes the documentation of the codes of ckpt audit out of their table.
//
//	go run ./audit/internal/gendocs -o docs/audit-codes.md
package main

import (
	"flag"
	"fmt"
	"os"

	"ckpt/audit"
)

func main() {
	out := flag.String("o", "docs/audit-codes.md", "the `file` to write")
	flag.Parse()
	if err := os.WriteFile(*out, render(audit.Codes()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs: error:", err)
		os.Exit(1) //nolint:forbidigo // this is a main
	}
}
