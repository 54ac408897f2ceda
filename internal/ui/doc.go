// Package ui is what people see and type: sizes, tables, colours, progress and
// names that do no harm on a terminal.
//
// Layout: size.go and parse.go turn byte counts into words and back, escape.go
// and width.go deal with names, table.go aligns, style.go colours, progress.go
// reports long work, nearest.go finds what was probably meant.
//
// Concurrency: functions may be called in parallel; a [Table] or [Columns]
// belongs to one goroutine, a [Progress] may be shared.
package ui
