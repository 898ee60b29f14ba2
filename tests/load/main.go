// Command load measures servers that speak the NATS protocol and compares two of them side by
// side. See README.md in its folder.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"godwit/tests/load/fleet"
	"godwit/tests/load/scenario"
)

const usage = `load measures servers that speak the NATS protocol.

  load run SCENARIO[,SCENARIO...] --a BIN [--b BIN] [flags]
  load list                     the scenarios
  load limits --dir DIR         this machine's physical limits
  load exec --a BIN [flags] -- COMMAND...
                                run a command against a fresh server ($NATS_URL)
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var err error
	switch args := os.Args[2:]; os.Args[1] {
	case "run":
		err = runCommand(args)
	case "list":
		for _, s := range scenario.All() {
			fmt.Printf("%-16s %s\n", s.Name, s.Help)
		}
	case "limits":
		err = limitsCommand(args)
	case "exec":
		err = execCommand(args)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "load: FAILED: %v\n", err)
		os.Exit(1)
	}
}

// cleanOnSignal ends the servers and removes the scratch directory when the tool is interrupted.
// The returned function gives the signals back.
func cleanOnSignal(scratch *fleet.Scratch) func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			scratch.Close()
			os.Exit(130)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
