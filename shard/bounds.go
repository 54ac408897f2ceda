package shard

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of the text of a plan. An object of two bytes becomes a structure of up
// to 300, so that a short text could take gigabytes: values are counted before
// any is kept.
const (
	// maxObjects bounds objects and lists of the whole text. A run of tensors
	// takes seven of them, many records or one.
	maxObjects = 1 << 18
	// maxList bounds the objects and lists in one list: as many as ranks at most.
	maxList = maxRanks
	// maxValues bounds everything else that lists hold: mostly places and the
	// ids of experts.
	maxValues = 1 << 20
	// maxNesting is how deep lists and objects lie in each other; twelve.
	maxNesting = 32
)

// bounded refuses a text of a plan that is too large to read, before it is
// read. It keeps nothing of it.
func bounded(text []byte) error {
	if len(text) > MaxPlan {
		return fmt.Errorf("more than %d bytes", MaxPlan)
	}
	in := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true)) // the next to read it refuses them
	objects, values := 0, 0
	var inner [maxNesting + 1]int // objects and lists at each depth of the list at hand
	for {
		kind := in.PeekKind()
		depth := in.StackDepth()
		parent, _ := in.StackIndex(depth)
		if _, err := in.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch {
		case kind == '{' || kind == '[':
			if depth >= maxNesting {
				return fmt.Errorf("lists and objects lie more than %d deep in each other", maxNesting)
			}
			objects++
			inner[depth+1] = 0
			if parent == '[' {
				inner[depth]++
			}
		case kind != '}' && kind != ']' && parent == '[':
			values++
		}
		switch {
		case inner[depth] > maxList:
			return fmt.Errorf("a list of more than %d at byte %d", maxList, in.InputOffset())
		case objects > maxObjects:
			return fmt.Errorf("more than %d objects and lists", maxObjects)
		case values > maxValues:
			return fmt.Errorf("more than %d values in lists", maxValues)
		}
	}
}
