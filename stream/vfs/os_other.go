//go:build !linux

package vfs

import (
	"errors"
	"os"
	"runtime"
)

func datasync(f *os.File) error { return f.Sync() }

func allocate(f *os.File, off, n int64) error { return extend(f, off+n) }

// syncDir does nothing on Windows, where directories cannot be synced and renames are journalled.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func space(path string) (total, free int64, err error) {
	return 0, 0, &os.PathError{Op: "statfs", Path: path, Err: errors.ErrUnsupported}
}
