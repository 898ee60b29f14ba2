package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"godwit/server/jetstream"
	"godwit/server/process"
)

// Exit statuses of check.
const (
	checkClean  = 0
	checkFaults = 1 // what is wrong can be made again, or was
	checkLoss   = 2 // messages are lost, or a stream cannot be read
	checkNot    = 3 // nothing was checked
)

// checkCommand is "godwit check".
func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "verify stored streams: every message, index and checkpoint",
		ArgsUsage: "DIR",
		Description: "DIR is a store directory, or that of an account or of one stream. The server must not be running on it.\n" +
			"The exit status is 0 if all is well, 1 if what is wrong can be made again (with --repair: was), 2 if something is lost,\n" +
			"3 if nothing could be checked.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "repair", Usage: "make indexes, checkpoints and descriptions again where they are damaged; what was there is kept as *.damaged"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		Action: func(c *cli.Context) error {
			p.status = checkNot
			if c.NArg() != 1 {
				return errors.New("check needs one directory: godwit check [--repair] [--json] DIR")
			}
			return p.check(c.Args().First(), c.Bool("repair"), c.Bool("json"))
		},
	}
}

// check verifies the streams below a directory.
func (p *program) check(dir string, repair, asJSON bool) error {
	dirs, total, err := jetstream.StoredStreams(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	unlock, err := lockStores(dirs)
	if err != nil {
		return fmt.Errorf("%w; stop the server first", err)
	}
	defer unlock()
	p.status = checkClean
	bar := newProgress(p.stderr, total)
	var list []jetstream.StreamCheck
	for _, d := range dirs {
		c := jetstream.CheckStream(d, repair, bar.add)
		p.status = max(p.status, statusOf(&c))
		list = append(list, c)
	}
	bar.end()
	if asJSON {
		return printChecksJSON(p.stdout, list)
	}
	for i := range list {
		printCheck(p.stdout, &list[i], repair)
	}
	return nil
}

// lockStores takes the locks of the stores that hold the streams, as a server does.
func lockStores(dirs []string) (unlock func(), err error) {
	var locks []*process.Lock
	unlock = func() {
		for _, l := range locks {
			l.Release()
		}
	}
	seen := map[string]bool{}
	for _, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			unlock()
			return nil, err
		}
		store := filepath.Dir(filepath.Dir(filepath.Dir(abs))) // <store>/<account>/streams/<stream>
		path := filepath.Join(store, jetstream.LockName)
		if seen[path] {
			continue
		}
		seen[path] = true
		if _, err := os.Stat(path); err != nil {
			continue // no server of this kind was ever here: a copy
		}
		l, err := process.LockFile(path)
		if err != nil {
			unlock()
			return nil, err
		}
		locks = append(locks, l)
	}
	return unlock, nil
}

func statusOf(c *jetstream.StreamCheck) int {
	switch {
	case c.Err != nil || c.Lost():
		return checkLoss
	case len(c.Faults) > 0:
		return checkFaults
	}
	return checkClean
}

func printCheck(w io.Writer, c *jetstream.StreamCheck, repair bool) {
	name := c.Dir
	if c.Stream != "" {
		name = c.Account + " > " + c.Stream
	}
	if c.Err != nil {
		fmt.Fprintf(w, "FAIL  %s: %v\n", name, c.Err)
	}
	if c.Checked == nil {
		return
	}
	word := map[int]string{checkClean: "ok   ", checkFaults: "FAULT", checkLoss: "LOSS "}[statusOf(c)]
	fmt.Fprintf(w, "%s %s: %d messages, %d consumers, %d batches of %d bytes in %d segments\n", word, name, c.State.Msgs, c.Consumers,
		c.Batches, c.Bytes, c.Segments)
	if c.Torn > 0 {
		fmt.Fprintf(w, "      %d bytes at the end were never acknowledged; a start removes them\n", c.Torn)
	}
	for _, f := range c.Faults {
		what := "lost"
		switch {
		case f.Derived && c.Repaired:
			what = "made again"
		case f.Derived && repair:
			what = "not repaired"
		case f.Derived:
			what = "can be made again with --repair"
		}
		fmt.Fprintf(w, "      %v: %s\n", f, what)
	}
}

func printChecksJSON(w io.Writer, list []jetstream.StreamCheck) error {
	type fault struct {
		Path     string `json:"path"`
		Position int64  `json:"position,omitempty"`
		Reason   string `json:"reason"`
		First    uint64 `json:"first_seq,omitempty"`
		Last     uint64 `json:"last_seq,omitempty"`
		Derived  bool   `json:"derived"`
	}
	type line struct {
		Dir       string  `json:"dir"`
		Account   string  `json:"account,omitempty"`
		Stream    string  `json:"stream,omitempty"`
		Messages  uint64  `json:"messages"`
		Consumers int     `json:"consumers"`
		Segments  int     `json:"segments"`
		Batches   int     `json:"batches"`
		Bytes     int64   `json:"bytes"`
		Torn      int64   `json:"torn_bytes,omitempty"`
		Faults    []fault `json:"faults"`
		Repaired  bool    `json:"repaired"`
		Error     string  `json:"error,omitempty"`
		Status    int     `json:"status"`
	}
	out := make([]line, 0, len(list))
	for i := range list {
		c := &list[i]
		l := line{Dir: c.Dir, Account: c.Account, Stream: c.Stream, Repaired: c.Repaired, Status: statusOf(c), Faults: []fault{}}
		if c.Err != nil {
			l.Error = c.Err.Error()
		}
		if c.Checked != nil {
			l.Messages, l.Consumers, l.Segments, l.Batches, l.Bytes, l.Torn = c.State.Msgs, c.Consumers, c.Segments, c.Batches, c.Bytes, c.Torn
			for _, f := range c.Faults {
				l.Faults = append(l.Faults, fault{f.Path, f.Position, f.Reason, f.First, f.Last, f.Derived})
			}
		}
		out = append(out, l)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// progress shows on a terminal how far a long work is.
type progress struct {
	w           io.Writer // nil: not a terminal
	done, total int64
	shown       int64 // percent
}

const progressWidth = 40

func newProgress(w io.Writer, total int64) *progress {
	p := &progress{total: max(total, 1), shown: -1}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

func (p *progress) add(n int64) {
	p.done += n
	percent := min(p.done*100/p.total, 100)
	if p.w == nil || percent == p.shown {
		return
	}
	p.shown = percent
	full := int(percent) * progressWidth / 100
	fmt.Fprintf(p.w, "\r[%s%s] %3d %%", strings.Repeat("=", full), strings.Repeat(" ", progressWidth-full), percent)
}

func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
