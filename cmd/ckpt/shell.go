package main

import (
	"slices"
	"strings"
)

// shellWords quotes words so that a shell takes each as one.
func shellWords(words ...string) string {
	quoted := slices.Clone(words)
	for i, s := range quoted {
		if s == "" || s[0] == '~' || strings.ContainsFunc(s, func(r rune) bool { return !shellSafe(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// shellPath quotes a path, also one that begins like a flag.
func shellPath(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return shellWords(path)
}

func shellSafe(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("_-./:=+@%~,", r)
}
