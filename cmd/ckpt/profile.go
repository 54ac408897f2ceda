package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"ckpt/model"
)

func addProfile(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "profile", "auto", "family of the model: `auto`, its name, a file, or none")
}

// checkProfile refuses a profile that does not exist or cannot be read before
// any work is done, and gives it as libraries know it.
func checkProfile(name string) (string, error) {
	if name == "auto" || name == "none" {
		return name, nil
	}
	if _, ok := model.Named(name); ok {
		return name, nil
	}
	if !strings.ContainsAny(name, `./\`) && exists(name) {
		name = "./" + name // a file, and the library is to know it
	}
	if strings.ContainsAny(name, `./\`) {
		if _, err := model.LoadProfile(name); err != nil {
			return "", &usageError{fmt.Errorf("--profile: %w", err)}
		}
		return name, nil
	}
	err := usagef("unknown profile %q", name)
	known := append([]string{"auto", "none"}, model.Names()...)
	if near := nearest(name, known); near != "" {
		return "", hint(err, "did you mean %s? known are %s, and any profile in a file", near, strings.Join(known, ", "))
	}
	return "", hint(err, "known are %s, and any profile in a file", strings.Join(known, ", "))
}
