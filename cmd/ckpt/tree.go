package main

import (
	"slices"
	"strings"

	"ckpt/internal/names"
	"ckpt/internal/ui"
)

// node is a segment of names, with all that begins with it.
type node struct {
	segment  string // with names.Mark for a number
	numbers  numbers
	children []*node
	count    int64
	bytes    int64
	kinds    []string // dtype and shape of the tensors that end here
}

func (n *node) child(segment string) *node {
	for _, c := range n.children {
		if c.segment == segment {
			return c
		}
	}
	c := &node{segment: segment}
	n.children = append(n.children, c)
	return c
}

// label is the segment with its numbers.
func (n *node) label() string {
	if n.segment == string([]byte{names.Mark}) {
		return n.numbers.text(true)
	}
	return n.segment
}

// tree sorts families into their segments.
func tree(families []*family, kind func(*family) string) *node {
	root := new(node)
	for _, f := range families {
		n, slot := root, 0
		n.count += f.count
		n.bytes += f.bytes
		for segment := range strings.SplitSeq(f.pattern.Text, ".") {
			n = n.child(segment)
			n.count += f.count
			n.bytes += f.bytes
			if segment == string([]byte{names.Mark}) && slot < f.pattern.Slots {
				n.numbers.addAll(&f.numbers[slot])
				slot++
			}
		}
		if k := kind(f); !slices.Contains(n.kinds, k) {
			n.kinds = append(n.kinds, k)
		}
	}
	return root
}

func (l *lister) printTree() {
	root := tree(l.families(), func(f *family) string {
		spec := l.c.Spec(f.spec)
		return spec.DType.String() + " " + shapeText(spec.Shape)
	})
	l.summary(l.files(), root.count, root.bytes)
	t := ui.Table{Columns: ui.Columns{Right: "lrrl"}}
	t.Row(l.headings("name", "count", "bytes", "dtype and shape")...)
	for _, c := range root.children {
		l.branch(&t, c, 0)
	}
	t.Write(l.w)
}

// branch adds a node and what is below it; a node with one child and no tensor
// of its own shares the child's line.
func (l *lister) branch(t *ui.Table, n *node, depth int) {
	label := n.label()
	for len(n.children) == 1 && len(n.kinds) == 0 {
		n = n.children[0]
		label += "." + n.label()
	}
	if len(n.children) > 0 {
		label += "."
	}
	t.Row(strings.Repeat("  ", depth)+ui.Escape(label), ui.Count(n.count), ui.GB(n.bytes), strings.Join(n.kinds, " or "))
	for _, c := range n.children {
		l.branch(t, c, depth+1)
	}
}
