// Package vfs is the seam between the segment log and the file system: the operating system in production, memory
// for memory streams, and in tests a memory file system that can lose whatever was not synced, and a wrapper that
// injects faults.
//
// Paths are slash-separated and passed on as they are; the memory file system cleans them. Errors wrap those of
// io/fs, so errors.Is(err, fs.ErrNotExist) and the like work with every implementation.
package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// FS is a file system. All methods are safe for concurrent use.
//
// A change of a directory (a file created, renamed or removed) survives a power cut only after SyncDir of that
// directory; the bytes of a file only after Sync or Datasync of it.
type FS interface {
	// OpenFile opens name; flag is made of os.O_RDONLY or os.O_RDWR, and os.O_CREATE, os.O_EXCL and os.O_TRUNC.
	OpenFile(name string, flag int) (File, error)
	// Create opens name for reading and writing, empty, whether it existed or not.
	Create(name string) (File, error)
	Remove(name string) error
	// RemoveAll removes name and all below it; it is no error if there is nothing.
	RemoveAll(name string) error
	// Rename replaces newname if it exists, atomically within one directory.
	Rename(oldname, newname string) error
	// MkdirAll creates dir and its missing parents. Use MkdirAllSync if they are to survive a power cut.
	MkdirAll(dir string) error
	// ReadDir lists dir, sorted by name.
	ReadDir(dir string) ([]Entry, error)
	Stat(name string) (Info, error)
	SyncDir(dir string) error
	// Space reports the bytes of the file system that holds path, and those of them that this process may still use.
	Space(path string) (total, free int64, err error)
}

// File is an open file. All methods but Close are safe for concurrent use.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync makes content and metadata durable; Datasync leaves out metadata that reading the content does not need.
	// After an error of either, nothing is known of what was written since the last success.
	Sync() error
	Datasync() error
	Truncate(size int64) error
	Size() (int64, error)
	// Allocate reserves space for the n bytes at off and extends the file to hold them, reading as zeros. Where the
	// file system cannot, the file is extended only.
	Allocate(off, n int64) error
	Name() string
	Close() error
}

// Entry is one name in a directory.
type Entry struct {
	Name string
	Dir  bool
}

// Info describes a file or directory.
type Info struct {
	Size int64 // bytes; 0 for a directory
	Dir  bool
}

// ReadFile returns the content of a file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("read %s: %d bytes, the limit is %d", name, size, limit)
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && (err != io.EOF || int64(n) < size) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}

// WriteFileSync replaces the file name by one that holds the parts, so that a power cut at any moment leaves the old
// or the new content: it writes name + ".tmp", syncs, renames, and syncs the directory.
func WriteFileSync(fsys FS, name string, parts ...[]byte) error {
	tmp := name + ".tmp"
	if err := writeSynced(fsys, tmp, parts); err != nil {
		_ = fsys.Remove(tmp) // it takes up room, which there may be none of
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

func writeSynced(fsys FS, name string, parts [][]byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	var pos int64
	for _, p := range parts {
		n, err := f.WriteAt(p, pos)
		if err != nil {
			f.Close()
			return err
		}
		pos += int64(n)
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// MkdirAllSync creates dir and its missing parents and makes them durable, level by level: a directory is made only
// after its parent is durable. The lowest one that exists already is made durable too, because its maker may have died
// in between.
func MkdirAllSync(fsys FS, dir string) error {
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	if _, err := fsys.Stat(dir); err == nil {
		if err := fsys.SyncDir(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err // a parent that cannot be read was made by somebody else
		}
		return fsys.MkdirAll(dir) // fails if it is a file
	}
	if err := MkdirAllSync(fsys, parent); err != nil {
		return err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	return fsys.SyncDir(parent)
}
