// Command ckpt audits, lists and cuts checkpoints of very large models.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	// A reader that has seen enough is no error: writes then return EPIPE
	// in place of the signal.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second interrupt ends the process at once
	std := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}
	os.Exit(run(ctx, os.Args[1:], std))
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, std streams) (code int) {
	defer func() {
		if fault := recover(); fault != nil { // else Go exits with 2, which is usage
			fmt.Fprintf(std.err, "ckpt: error: a fault of ckpt itself: %v\n\n%s", fault, debug.Stack())
			code = exitFailed
		}
	}()
	err := execute(ctx, args, std)
	if err != nil && ctx.Err() != nil {
		err = context.Canceled // whatever the interrupt looked like further down
	}
	report(std, err)
	return exitCode(err)
}

func execute(ctx context.Context, args []string, std streams) error {
	args, err := translate(args)
	if err != nil {
		return err
	}
	root := newRoot(std)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}
