package logging

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// backupLayout is what the name of a rotated file has after the log file's name and a dot.
const backupLayout = "2006.01.02.15.04.05.000000000"

// fileSink writes to a file and rotates it: when a line has taken it past its limit, the file gets a name with
// the time and a new one is begun.
type fileSink struct {
	path  string
	limit int64 // bytes; 0 is none
	keep  int   // files, the current one included; 0 is all
	form  *form
	now   func() time.Time

	f      *os.File
	size   int64
	rotate int64 // size at which to rotate next; above limit after a failed attempt
}

func openFile(path string, limit int64, keep int, form *form, now func() time.Time) (*fileSink, error) {
	s := &fileSink{path: path, limit: limit, keep: keep, form: form, now: now}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// open opens the file for appending in place of the one in use.
func (s *fileSink) open() error {
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return fmt.Errorf("error opening file: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("error opening file: %w", err), f.Close())
	}
	old := s.f
	s.f, s.size, s.rotate = f, st.Size(), s.limit
	if old != nil {
		return old.Close()
	}
	return nil
}

func (s *fileSink) reopen() error { return s.open() }

func (s *fileSink) close() error { return s.f.Close() }

// write writes whole lines, as many at a time as there is no rotation between them.
func (s *fileSink) write(b *batch) error {
	var errs []error
	start := 0
	for i, l := range b.lines {
		full := s.limit > 0 && s.size+int64(l.end-start) > s.rotate
		if !full && i < len(b.lines)-1 {
			continue
		}
		n, err := s.f.Write(b.data[start:l.end])
		s.size += int64(n)
		start = l.end
		if err != nil {
			errs = append(errs, err)
		}
		if full {
			errs = append(errs, s.rotateNow())
		}
	}
	return errors.Join(errs...)
}

// rotateNow moves the file aside and begins a new one. When that fails the old file goes on for another
// limit's length.
func (s *fileSink) rotateNow() error {
	backup := s.path + "." + s.now().Format(backupLayout)
	if err := os.Rename(s.path, backup); err != nil {
		s.rotate = s.size + s.limit
		return errors.Join(err, s.say(Error, "Unable to rotate log file, will retry later: %v", err))
	}
	if err := s.open(); err != nil {
		s.rotate = s.size + s.limit
		return errors.Join(err, s.say(Error, "Unable to open new log file, will retry later: %v", err))
	}
	return errors.Join(s.say(Info, "Rotated log, backup saved as %q", backup), s.purge())
}

// purge removes the oldest rotated files beyond what is to be kept.
func (s *fileSink) purge() error {
	if s.keep <= 0 {
		return nil
	}
	backups, err := s.backups()
	if err != nil {
		return err
	}
	var errs []error
	for len(backups) > s.keep-1 {
		name := backups[0]
		backups = backups[1:]
		if err := os.Remove(filepath.Join(filepath.Dir(s.path), name)); err != nil {
			errs = append(errs, err, s.say(Error, "Unable to remove log file %q: %v", name, err))
			continue
		}
		errs = append(errs, s.say(Info, "Purged log file %q", name))
	}
	return errors.Join(errs...)
}

// backups lists the names of the rotated files, the oldest first.
func (s *fileSink) backups() ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		return nil, err
	}
	prefix := filepath.Base(s.path) + "."
	var names []string
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || e.IsDir() {
			continue
		}
		if _, err := time.Parse(backupLayout, suffix); err == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names) // the layout sorts by time
	return names, nil
}

// say writes a line about the log file into the log file.
func (s *fileSink) say(level Level, format string, args ...any) error {
	b := s.form.append(nil, level, s.now(), fmt.Sprintf(format, args...))
	n, err := s.f.Write(b)
	s.size += int64(n)
	return err
}
