package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// HideArgs overwrites with "x" what RedactArgs doesn't show where the operating system keeps the arguments of
// this process, so that other users don't see it in the list of processes. os.Args keeps the true values, in
// memory of its own.
//
// It is for the first lines of main: it replaces os.Args, and strings cut out of os.Args before would be
// overwritten as well, because the Go runtime shares this memory.
func HideArgs() error {
	spans := secrets(os.Args)
	args := make([]string, len(os.Args))
	for i, a := range os.Args {
		args[i] = strings.Clone(a)
	}
	os.Args = args
	if len(spans) == 0 {
		return nil
	}
	return hideArgs("/proc/self", args, spans)
}

var errArgsMoved = errors.New("arguments not found in the memory of the process")

func hideArgs(proc string, args []string, spans []span) error {
	start, end, err := argsRange(proc)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(proc+"/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	block := make([]byte, end-start)
	if _, err := mem.ReadAt(block, start); err != nil {
		return err
	}
	if !bytes.HasPrefix(block, []byte(strings.Join(args, "\x00"))) { // something else is there: leave it alone
		return errArgsMoved
	}
	offsets := make([]int64, len(args))
	at := start
	for i, a := range args {
		offsets[i] = at
		at += int64(len(a)) + 1
	}
	for _, s := range spans {
		if _, err := mem.WriteAt(bytes.Repeat([]byte("x"), s.end-s.start), offsets[s.arg]+int64(s.start)); err != nil {
			return err
		}
	}
	return nil
}

// argsRange reads where the arguments are: fields 48 and 49 of /proc/self/stat, counted from 1.
func argsRange(proc string) (start, end int64, err error) {
	b, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return 0, 0, err
	}
	_, rest, ok := bytes.Cut(b, []byte(") ")) // after the name, which is field 2
	f := strings.Fields(string(rest))
	if !ok || len(f) < 47 {
		return 0, 0, fmt.Errorf("%s/stat has no argument range", proc)
	}
	start, err = strconv.ParseInt(f[45], 10, 64)
	if err != nil {
		return 0, 0, err
	}
	end, err = strconv.ParseInt(f[46], 10, 64)
	if err != nil {
		return 0, 0, err
	}
	if start <= 0 || end <= start || end-start > 8<<20 {
		return 0, 0, errArgsMoved
	}
	return start, end, nil
}
