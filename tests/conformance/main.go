// Command conformance runs the integration tests of the public Go client against a server
// binary, and compares the outcome with the stored list of tests that are known to pass.
//
//	conformance suite --server BINARY    the whole suite, or a part of it
//	conformance serve --server BINARY    only the service that the suite asks for servers
package main

import (
	"fmt"
	"os"
)

const usage = `usage: conformance suite --server BINARY [flags]
       conformance serve --server BINARY [flags]

suite runs the public Go client's integration tests; serve runs only the
service that gives them servers. "conformance suite --help" lists the flags.
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var status int
	var err error
	switch command, args := os.Args[1], os.Args[2:]; command {
	case "suite":
		status, err = suiteCommand(args)
	case "serve":
		status, err = serveCommand(args)
	case "help", "--help", "-h":
		fmt.Print(usage)
	default:
		status, err = 2, fmt.Errorf("unknown command %q: want suite or serve", command)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
	}
	os.Exit(status)
}
