package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// childEnv holds the path that a child process is to audit: as a user whom
// permissions concern, or where nothing can be written.
const childEnv = "CKPT_TEST_AUDIT"

// child is the main function of such a process. It prints the report.
func child() int {
	if os.Getenv(mountEnv) != "" {
		if err := mountReadOnly(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return notMounted
		}
	}
	r, err := Run(context.Background(), os.Getenv(childEnv), Options{})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
