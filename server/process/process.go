// Package process is about the server as a process of the operating system: the files that tell others of it (pid
// file, ports file), the signals it obeys, sending such signals to a running server, and keeping passwords given
// on the command line from being seen.
package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Name is the base name of the running program, by which --signal finds servers and after which files are named.
func Name() string {
	if exe, err := os.Executable(); err == nil {
		return filepath.Base(exe)
	}
	return filepath.Base(os.Args[0])
}

// WritePIDFile writes the decimal process id, without a line end, to path. The file is left behind at the end
// of the process, for whoever starts the next one to judge.
func WritePIDFile(path string) error {
	return os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600)
}

// ReadPIDFile returns the process id in a pid file; white space around it doesn't matter.
func ReadPIDFile(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return parsePID(strings.TrimSpace(string(b)))
}

// parsePID reads a process id. Zero and negative numbers are none: to signal them would reach whole groups of
// processes, or all.
func parsePID(s string) (int, error) {
	pid, err := strconv.Atoi(s)
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("invalid pid: %s", s)
	}
	return pid, nil
}
