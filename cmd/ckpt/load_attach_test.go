package main

import (
	"context"
	"os"

	"ckpt/loader/client"
)

// attachForever is a program: a client that keeps its lease until it is killed.
func attachForever() {
	if _, err := client.Attach(context.Background(), os.Args[1]); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("attached\n")
	select {}
}
