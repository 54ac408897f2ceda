package main

import (
	"regexp"
	"slices"
	"strings"
)

// Words with one dash that other tools have. The flag parser would read -tp as
// -t p, so they become long flags before it sees them.
var singleDash = map[string]string{
	"-tp": "--tp", "-pp": "--pp", "-ep": "--ep", "-np": "--seqs",
	"-ctk": "--kv-dtype", "-ctv": "--kv-dtype",
}

// Flags whose meaning differs between tools are refused, never guessed.
var refused = map[string]string{
	"--batch-size":   "sequences in one tool and tokens a step in another; say what you mean where a command asks for it",
	"-ngl":           "layers on a device are decided by the engine that serves, not by its checkpoint",
	"--n-gpu-layers": "layers on a device are decided by the engine that serves, not by its checkpoint",
	"--gpu-layers":   "layers on a device are decided by the engine that serves, not by its checkpoint",
	"--tensor-split": "fractions in one tool and sizes in another; ranks here are always equal",
}

// quantWord is a word that somebody puts behind -q who means a format.
var quantWord = regexp.MustCompile(`(?i)^(mxfp[468]|mx|nvfp4|[bf]p?\d+|bf16|fp8_\w+|u?int[48]|i?q\d\w*|tq\d\w*|awq|gptq|nf4)$`)

// translate turns what users of other tools type into our own arguments,
// before flags are parsed. What stands behind -- is left alone.
func translate(args []string) ([]string, error) {
	out := slices.Clone(args)
	for i, a := range out {
		if a == "--" {
			break
		}
		name, value, hasValue := strings.Cut(a, "=")
		if ours, ok := singleDash[name]; ok {
			out[i] = ours
			if hasValue {
				out[i] += "=" + value
			}
		}
		if strings.HasPrefix(name, "--") {
			name = strings.ReplaceAll(name, "_", "-")
		}
		if why, ok := refused[name]; ok {
			return nil, usagef("%s is not taken: %s", name, why)
		}
		if (a == "-q" || a == "--quiet") && i+1 < len(out) && quantWord.MatchString(out[i+1]) {
			return nil, hint(usagef("-q is quiet and takes no value, and %q names a format", out[i+1]),
				"formats are named with --to")
		}
	}
	return doctorPath(out), nil
}

// doctorPath turns doctor PATH into audit PATH: without a path it is the
// machine that is examined.
func doctorPath(args []string) []string {
	verb := -1
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--progress" || a == "--dir" && verb >= 0:
			i++ // its value
		case strings.HasPrefix(a, "-") && a != "-" && a != "--" && !slices.Contains([]string{"-m", "--model", "--path"}, a):
		case verb < 0 && a != "doctor":
			return args
		case verb < 0:
			verb = i
		case a == "--":
		default:
			args[verb] = "audit"
			return args
		}
	}
	return args
}
