package vfs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// osVolume is a directory that is kept open: syncfs reports the failures since that was opened.
type osVolume struct {
	dir    *os.File
	device uint64
}

// openVolume takes ext4 with a journal only. Its syncfs flushes the disk's cache after everything was written, also when
// there is no metadata to commit; other kinds leave that out, and ext4 without a journal writes metadata after the flush.
// Before Linux 5.8 syncfs does not report that data could not be written, and before 5.17 not that the journal could not.
func openVolume(dir string) (Volume, error) {
	device, err := deviceOf(dir)
	if err != nil {
		return nil, err
	}
	mounts, err := readMounts()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoVolume, err)
	}
	name := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	if kind := kindOf(mounts, name); kind != "ext4" {
		return nil, fmt.Errorf("%w: that of %s is %s, not ext4", ErrNoVolume, dir, cmp.Or(kind, "not known"))
	}
	if err := hasJournal(name); err != nil {
		return nil, fmt.Errorf("%w: that of %s: %w", ErrNoVolume, dir, err)
	}
	var system unix.Utsname
	if err := unix.Uname(&system); err != nil {
		return nil, err
	}
	if release := unix.ByteSliceToString(system.Release[:]); !atLeast(release, 5, 17) {
		return nil, fmt.Errorf("%w: Linux %s is older than 5.17", ErrNoVolume, release)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return osVolume{d, device}, nil
}

func deviceOf(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return uint64(st.Dev), nil
}

// mount is a line of /proc/self/mountinfo.
type mount struct {
	device string // major:minor
	root   string // what of the file system is mounted: "/" for all of it
	point  string // where
	kind   string
}

func readMounts() ([]mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text)), nil
}

// parseMounts leaves out lines that it does not understand.
func parseMounts(text string) (list []mount) {
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(left), strings.Fields(right)
		if ok && len(fields) > 4 && len(kind) > 0 {
			list = append(list, mount{fields[2], unescape(fields[3]), unescape(fields[4]), kind[0]})
		}
	}
	return list
}

// unescape replaces the octal numbers that stand for white space and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, `\`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if len(after) >= 3 {
			if n, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				b.WriteByte(byte(n))
				s = after[3:]
				continue
			}
		}
		b.WriteByte('\\')
		s = after
	}
}

// kindOf returns the kind of file system on a device; empty if it is not mounted.
func kindOf(mounts []mount, device string) string {
	for _, m := range mounts {
		if m.device == device {
			return m.kind
		}
	}
	return ""
}

// hasJournal returns an error if the ext4 file system on a device has no journal, or if that cannot be told.
func hasJournal(device string) error {
	path, err := os.Readlink("/sys/dev/block/" + device)
	if err != nil {
		return err
	}
	task, err := os.ReadFile(filepath.Join("/sys/fs/ext4", filepath.Base(path), "journal_task"))
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(task))); err != nil || n <= 0 {
		return fmt.Errorf("it has no journal")
	}
	return nil
}

// atLeast compares the beginning of a kernel's release.
func atLeast(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n < 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

// Sync implements Volume.
func (v osVolume) Sync() error {
	c, err := v.dir.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = c.Control(func(fd uintptr) {
		for {
			if serr = unix.Syncfs(int(fd)); serr != unix.EINTR {
				return
			}
		}
	})
	if err == nil && serr != nil {
		err = &os.PathError{Op: "syncfs", Path: v.dir.Name(), Err: serr}
	}
	return err
}

// Close implements Volume.
func (v osVolume) Close() error { return v.dir.Close() }

// Holds implements Volume.
func (v osVolume) Holds(dir string) bool {
	device, err := deviceOf(dir)
	return err == nil && device == v.device
}

// isVolume takes an absolute path without links.
func isVolume(dir string) bool {
	mounts, err := readMounts()
	if err != nil {
		return false
	}
	return wholeAt(mounts, dir)
}

// wholeAt reports whether all of a file system is mounted at dir. The last one mounted there is what counts.
func wholeAt(mounts []mount, dir string) (whole bool) {
	for _, m := range mounts {
		if m.point == dir {
			whole = m.root == "/"
		}
	}
	return whole
}
