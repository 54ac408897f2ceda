// Package house holds no code, only tests: the rules of this repository that a
// program can check. They read every Go file of the module, whatever its build
// tags, so a rule holds on systems that the tests do not run on.
package house
