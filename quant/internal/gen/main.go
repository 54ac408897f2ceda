// Command gen writes the assembly of package kernel.
package main

import _ "github.com/mmcloughlin/avo/build"

func main() {}
