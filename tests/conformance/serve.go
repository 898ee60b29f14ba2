package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"godwit/tests/conformance/tester"
)

// serveCommand runs the service until it is interrupted or its own server ends.
func serveCommand(args []string) (status int, err error) {
	fs := flag.NewFlagSet("serve", flag.ExitOnError)
	f := addServiceFlags(fs)
	port := fs.Int("port", 4222, "port of the service's endpoint; 0 picks a free one")
	fs.Parse(args)
	if fs.NArg() > 0 {
		return 2, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if f.data == "" {
		dir, remove, err := scratch()
		if err != nil {
			return 2, err
		}
		defer remove()
		f.data = dir
	}
	cfg, err := f.config()
	if err != nil {
		return 2, err
	}
	cfg.Port, cfg.Log = *port, os.Stderr

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	svc, err := tester.Start(cfg)
	if err != nil {
		return 2, err
	}
	defer svc.Close()
	fmt.Printf("TESTER_NATS_URL=%s\n", svc.URL())
	select {
	case <-stop:
		return 0, nil
	case state := <-svc.Died():
		return 1, fmt.Errorf("the server behind the endpoint ended: %s", state)
	}
}
