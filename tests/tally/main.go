// Command tally reads the output of "go test -json" on standard input, prints one line per
// package and the output of what failed, and writes the counts of top-level tests to a file.
//
//	go test -json ./... | tally --counts FILE
//
// The file gets one line, "passed failed skipped". The exit status is 1 when anything failed.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	file := flag.String("counts", "", "file for the line \"passed failed skipped\"")
	flag.Parse()
	t := newTally(os.Stdout)
	if err := t.read(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "tally: %v\n", err)
		os.Exit(2)
	}
	if *file != "" {
		line := fmt.Sprintf("%d %d %d\n", t.passed, t.failed, t.skipped)
		if err := os.WriteFile(*file, []byte(line), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "tally: %v\n", err)
			os.Exit(2)
		}
	}
	if t.failed > 0 {
		os.Exit(1)
	}
}
