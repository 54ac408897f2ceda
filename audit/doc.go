// Package audit checks a checkpoint in place and says what is wrong with it: Run
// makes a Report of a path, and Explain says what one of its codes means.
//
// # Layout
//
// Codes is the table of everything that can be found; a code never changes its
// meaning. Checks look at a view of a checkpoint and add each Finding to a
// Collector, which joins identical ones, applies the ignore list and makes the
// Report. A report is written as JSON (schema ckpt.audit/v1) or as SARIF 2.1.0;
// for people it is printed elsewhere.
//
// # Verdicts
//
// A check ends as pass, warn, fail or skip with a reason. One that found infos
// alone is a pass. What was asked for and not checked is a gap and never a pass:
// the verdict is fail when an error stands, incomplete when none does but a gap
// is left, else pass.
//
// # Limits
//
// An entry of a report keeps the first three of its instances unless all are
// wanted, so that memory does not grow with the number of identical findings.
//
// # Concurrency
//
// A Collector may be used by several goroutines at once. A Report is plain data.
package audit
