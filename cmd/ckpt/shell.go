package main

import (
	"slices"
	"strings"
)

// shellWords quotes words so that a shell takes each as one.
func shellWords(words ...string) string {
	quoted := slices.Clone(words)
	for i, s := range quoted {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !shellSafe(r) }) || s[0] == '-' || s[0] == '~' {
			if s != "" && s[0] == '-' {
				s = "./" + s
			}
			quoted[i] = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func shellSafe(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("_-./:=+@%~,", r)
}
