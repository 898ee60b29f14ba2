package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

const overlayPage = 4 << 10

// Overlay is a file system whose changes stay in memory: what lies below is read and never written. It is for looking at
// a directory with code that would tidy it up.
type Overlay struct {
	base FS

	mu    sync.Mutex // guards what follows
	files map[string]*overlayFile
	gone  map[string]bool // names that exist below and not here
	dirs  map[string]bool
}

// NewOverlay returns a file system over base.
func NewOverlay(base FS) *Overlay {
	return &Overlay{base: base, files: map[string]*overlayFile{}, gone: map[string]bool{}, dirs: map[string]bool{}}
}

// overlayFile is the content of a file: pages that were written here, over a file below if there is one.
type overlayFile struct {
	name string

	mu    sync.RWMutex // guards what follows
	below File         // nil: none
	from  int64        // bytes of it that count
	pages map[int64][]byte
	size  int64
}

func notThere(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// findLocked returns the file of a name.
func (o *Overlay) findLocked(op, name string) (*overlayFile, error) {
	if f := o.files[name]; f != nil {
		return f, nil
	}
	if o.gone[name] || o.dirs[name] {
		return nil, notThere(op, name)
	}
	below, err := o.base.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	size, err := below.Size()
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	f := &overlayFile{name: name, below: below, from: size, size: size, pages: map[int64][]byte{}}
	o.files[name] = f
	return f, nil
}

// OpenFile implements FS.
func (o *Overlay) OpenFile(name string, flag int) (File, error) {
	name = path.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	f, err := o.findLocked("open", name)
	switch {
	case err == nil && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
		f = &overlayFile{name: name, pages: map[int64][]byte{}}
		o.files[name] = f
		delete(o.gone, name)
	case err != nil:
		return nil, err
	}
	if flag&os.O_TRUNC != 0 {
		return f, f.Truncate(0)
	}
	return f, nil
}

// Create implements FS.
func (o *Overlay) Create(name string) (File, error) {
	return o.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Remove implements FS.
func (o *Overlay) Remove(name string) error {
	name = path.Clean(name)
	if _, err := o.Stat(name); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.files, name)
	delete(o.dirs, name)
	o.gone[name] = true
	return nil
}

// RemoveAll implements FS.
func (o *Overlay) RemoveAll(name string) error {
	name = path.Clean(name)
	if list, err := o.ReadDir(name); err == nil {
		for _, e := range list {
			if err := o.RemoveAll(path.Join(name, e.Name)); err != nil {
				return err
			}
		}
	}
	if err := o.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Rename implements FS, for files.
func (o *Overlay) Rename(oldname, newname string) error {
	oldname, newname = path.Clean(oldname), path.Clean(newname)
	o.mu.Lock()
	defer o.mu.Unlock()
	f, err := o.findLocked("rename", oldname)
	if err != nil {
		return err
	}
	delete(o.files, oldname)
	o.gone[oldname] = true
	o.files[newname] = f
	delete(o.gone, newname)
	return nil
}

// MkdirAll implements FS.
func (o *Overlay) MkdirAll(dir string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for d := path.Clean(dir); d != "/" && d != "."; d = path.Dir(d) {
		if _, err := o.base.Stat(d); err != nil || o.gone[d] {
			o.dirs[d] = true
			delete(o.gone, d)
		}
	}
	return nil
}

// ReadDir implements FS.
func (o *Overlay) ReadDir(dir string) ([]Entry, error) {
	dir = path.Clean(dir)
	o.mu.Lock()
	defer o.mu.Unlock()
	names := map[string]bool{}
	list, err := o.base.ReadDir(dir)
	if o.gone[dir] {
		list, err = nil, notThere("readdir", dir)
	}
	if err != nil && !o.dirs[dir] {
		return nil, err
	}
	for _, e := range list {
		if !o.gone[path.Join(dir, e.Name)] {
			names[e.Name] = e.Dir
		}
	}
	for name := range o.files {
		if path.Dir(name) == dir {
			names[path.Base(name)] = false
		}
	}
	for name := range o.dirs {
		if path.Dir(name) == dir {
			names[path.Base(name)] = true
		}
	}
	out := make([]Entry, 0, len(names))
	for name, isDir := range names {
		out = append(out, Entry{name, isDir})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Stat implements FS.
func (o *Overlay) Stat(name string) (Info, error) {
	name = path.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.files[name]; f != nil {
		size, err := f.Size()
		return Info{Size: size}, err
	}
	if o.dirs[name] {
		return Info{Dir: true}, nil
	}
	if o.gone[name] {
		return Info{}, notThere("stat", name)
	}
	return o.base.Stat(name)
}

// SyncDir implements FS.
func (o *Overlay) SyncDir(string) error { return nil }

// Space implements FS: that of the file system below.
func (o *Overlay) Space(name string) (total, free int64, err error) { return o.base.Space(name) }

// Close closes the files below.
func (o *Overlay) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, f := range o.files {
		if f.below != nil {
			errs = append(errs, f.below.Close())
		}
	}
	return errors.Join(errs...)
}

// Name implements File.
func (f *overlayFile) Name() string { return f.name }

// Close implements File: the file below stays open for others, until the Overlay is closed.
func (f *overlayFile) Close() error { return nil }

// Sync implements File.
func (f *overlayFile) Sync() error { return nil }

// Datasync implements File.
func (f *overlayFile) Datasync() error { return nil }

// Size implements File.
func (f *overlayFile) Size() (int64, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.size, nil
}

// ReadAt implements io.ReaderAt.
func (f *overlayFile) ReadAt(b []byte, off int64) (n int, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if off < 0 {
		return 0, fmt.Errorf("read %s: negative offset", f.name)
	}
	for n < len(b) && off < f.size {
		at := off % overlayPage
		k := int(min(int64(len(b)-n), overlayPage-at, f.size-off))
		part := b[n : n+k]
		if page := f.pages[off/overlayPage]; page != nil {
			copy(part, page[at:])
		} else if err := f.readBelow(part, off); err != nil {
			return n, err
		}
		n += k
		off += int64(k)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// readBelow reads what the file below has at off; behind it are zeros.
func (f *overlayFile) readBelow(b []byte, off int64) error {
	k := max(0, min(int64(len(b)), f.from-off))
	clear(b[k:])
	if k == 0 {
		return nil
	}
	n, err := f.below.ReadAt(b[:k], off)
	if int64(n) < k {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	return nil
}

// WriteAt implements io.WriterAt.
func (f *overlayFile) WriteAt(b []byte, off int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(b) {
		at := off % overlayPage
		page := f.pages[off/overlayPage]
		if page == nil {
			page = make([]byte, overlayPage)
			if err := f.readBelow(page, off-at); err != nil {
				return n, err
			}
			f.pages[off/overlayPage] = page
		}
		k := copy(page[at:], b[n:])
		n += k
		off += int64(k)
	}
	f.size = max(f.size, off)
	return n, nil
}

// Truncate implements File.
func (f *overlayFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from = min(f.from, size)
	for p, page := range f.pages {
		switch begin := p * overlayPage; {
		case begin >= size:
			delete(f.pages, p)
		case begin+overlayPage > size:
			clear(page[size-begin:])
		}
	}
	f.size = size
	return nil
}

// Allocate implements File.
func (f *overlayFile) Allocate(off, n int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size = max(f.size, off+n)
	return nil
}
