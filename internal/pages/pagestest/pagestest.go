// Package pagestest does to memory files what other processes may do to them, for
// tests of other packages.
package pagestest
