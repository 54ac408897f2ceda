// Command rewrite copies safetensors files through this module's reader and
// writer. It reads lines from standard input, each an alignment of the data, a
// source and a destination, separated by tabs, and stops at the first error.
// The interop suite reads the copies with the official package.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"ckpt/safetensors"
)

func main() {
	if err := run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "rewrite:", err)
		os.Exit(1)
	}
}

func run(in io.Reader) error {
	jobs := bufio.NewScanner(in)
	for jobs.Scan() {
		job := strings.Split(jobs.Text(), "\t")
		if len(job) != 3 {
			return fmt.Errorf("%q: want an alignment, a source and a destination", jobs.Text())
		}
		align, err := strconv.Atoi(job[0])
		if err != nil {
			return err
		}
		if err := rewrite(job[1], job[2], align); err != nil {
			return fmt.Errorf("%s: %w", job[1], err)
		}
	}
	return jobs.Err()
}

// rewrite copies one file, its tensors in the order that official files have.
func rewrite(src, dst string, align int) error {
	h, err := safetensors.Open(src, nil)
	if err != nil {
		return err
	}
	defer h.Close()
	source := make(map[string]safetensors.Tensor, len(h.Tensors))
	specs := make([]safetensors.Spec, 0, len(h.Tensors))
	for _, t := range h.Tensors {
		source[t.Name] = t
		specs = append(specs, safetensors.Spec{Name: t.Name, DType: t.DType, Shape: t.Shape})
	}
	safetensors.SerializeOrder(specs)
	layout, err := safetensors.NewLayout(specs, &safetensors.LayoutOptions{Align: align, Metadata: h.Metadata})
	if err != nil {
		return err
	}
	w, err := safetensors.Create(dst, layout)
	if err != nil {
		return err
	}
	for _, spec := range specs {
		t := source[spec.Name]
		err = errors.Join(err, w.WriteTensor(t.Name, io.NewSectionReader(h, t.Offset, t.Size)))
	}
	if err != nil {
		w.Abort()
		return err
	}
	return w.Commit()
}
