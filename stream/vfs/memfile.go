package vfs

import (
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

// pageBytes is the unit in which file contents are held, so that growing a file copies nothing but its first page.
const pageBytes = 64 << 10

// memPages is a file's content. Pages may be shorter than pageBytes or nil; what is missing reads as zeros.
type memPages struct {
	pages [][]byte
	size  int64
}

func (p *memPages) readAt(b []byte, off int64) int {
	if off >= p.size {
		return 0
	}
	n := int(min(int64(len(b)), p.size-off))
	for done := 0; done < n; {
		i, at := (off+int64(done))/pageBytes, int((off+int64(done))%pageBytes)
		part := b[done : done+min(n-done, pageBytes-at)]
		c := 0
		if i < int64(len(p.pages)) && at < len(p.pages[i]) {
			c = copy(part, p.pages[i][at:])
		}
		clear(part[c:])
		done += len(part)
	}
	return n
}

func (p *memPages) writeAt(b []byte, off int64) {
	if len(b) == 0 {
		return
	}
	p.size = max(p.size, off+int64(len(b)))
	for len(b) > 0 {
		i, at := off/pageBytes, int(off%pageBytes)
		n := min(len(b), pageBytes-at)
		for int64(len(p.pages)) <= i {
			p.pages = append(p.pages, nil)
		}
		page := p.pages[i]
		if len(page) < at+n {
			if cap(page) < at+n {
				grown := make([]byte, at+n, min(pageBytes, max(at+n, 2*cap(page))))
				copy(grown, page)
				page = grown
			}
			page = page[:at+n]
			p.pages[i] = page
		}
		copy(page[at:], b[:n])
		b, off = b[n:], off+int64(n)
	}
}

func (p *memPages) truncate(size int64) {
	if size < p.size {
		last := (size + pageBytes - 1) / pageBytes
		if last < int64(len(p.pages)) {
			clear(p.pages[last:])
			p.pages = p.pages[:last]
		}
		if at := size % pageBytes; at > 0 && last == int64(len(p.pages)) {
			if page := p.pages[last-1]; int64(len(page)) > at {
				clear(page[at:])
				p.pages[last-1] = page[:at]
			}
		}
	}
	p.size = size
}

func (p *memPages) clone() memPages {
	c := memPages{size: p.size, pages: make([][]byte, len(p.pages))}
	for i, page := range p.pages {
		if page != nil {
			c.pages[i] = append(make([]byte, 0, len(page)), page...)
		}
	}
	return c
}

// memData is the content of a file, shared by all who have it open.
type memData struct {
	tracked bool
	mu      sync.RWMutex
	live    memPages
	// If tracked: what a power cut leaves for certain, and the changes since, in order.
	stable memPages
	ops    []memFileOp
}

// memFileOp is a write of data at off, or a truncation to off if data is nil.
type memFileOp struct {
	off  int64
	data []byte
}

func (op *memFileOp) apply(p *memPages) {
	if op.data == nil {
		p.truncate(op.off)
		return
	}
	p.writeAt(op.data, op.off)
}

func (d *memData) length() int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.live.size
}

func (d *memData) write(b []byte, off int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live.writeAt(b, off)
	if d.tracked && len(b) > 0 {
		d.ops = append(d.ops, memFileOp{off, append([]byte(nil), b...)})
	}
}

func (d *memData) truncate(size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.truncateLocked(size)
}

func (d *memData) truncateLocked(size int64) {
	d.live.truncate(size)
	if d.tracked {
		d.ops = append(d.ops, memFileOp{off: size})
	}
}

func (d *memData) sync() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.ops {
		d.ops[i].apply(&d.stable)
	}
	d.ops = nil
}

// lose forgets that the unsynced changes are still to be made durable, as a kernel does with dirty pages after a failed
// sync: they can be read until the power goes, and no later sync brings them to the disk.
func (d *memData) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = nil
}

// memFile is one opening of a file.
type memFile struct {
	name   string
	data   *memData
	write  bool
	closed atomic.Bool
}

func (f *memFile) check(op string, write bool) error {
	if f.closed.Load() {
		return pathError(op, f.name, fs.ErrClosed)
	}
	if write && !f.write {
		return pathError(op, f.name, fs.ErrPermission)
	}
	return nil
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	f.data.mu.RLock()
	n := f.data.live.readAt(b, off)
	f.data.mu.RUnlock()
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.check("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("write", f.name, fs.ErrInvalid)
	}
	f.data.write(b, off)
	return len(b), nil
}

func (f *memFile) Sync() error {
	if err := f.check("sync", false); err != nil {
		return err
	}
	if f.data.tracked {
		f.data.sync()
	}
	return nil
}

func (f *memFile) Datasync() error { return f.Sync() }

func (f *memFile) Truncate(size int64) error {
	if err := f.check("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	f.data.truncate(size)
	return nil
}

func (f *memFile) Allocate(off, n int64) error {
	if err := f.check("allocate", true); err != nil {
		return err
	}
	if off < 0 || n < 0 {
		return pathError("allocate", f.name, fs.ErrInvalid)
	}
	f.data.mu.Lock()
	defer f.data.mu.Unlock()
	if off+n > f.data.live.size {
		f.data.truncateLocked(off + n)
	}
	return nil
}

func (f *memFile) Size() (int64, error) {
	if err := f.check("stat", false); err != nil {
		return 0, err
	}
	return f.data.length(), nil
}

func (f *memFile) Name() string { return f.name }

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.name, fs.ErrClosed)
	}
	return nil
}
