package vfs

// OpKind names what is about to be done to a file system.
type OpKind uint8

const (
	OpOpen OpKind = iota // OpenFile and Create
	OpRemove
	OpRename
	OpMkdir
	OpReadDir
	OpStat
	OpSyncDir
	OpRead
	OpWrite
	OpSync // Sync and Datasync
	OpTruncate
	OpAllocate
	OpSyncVolume // of a Volume
)

// Op is one operation.
type Op struct {
	Kind OpKind
	Path string // the old one of a rename
	Off  int64  // of a read or write; the size of a truncation
	Len  int    // bytes of a read or write
}

// Fault is what happens to an operation instead of success.
type Fault struct {
	Err  error // returned
	Keep int   // write with Err: so many bytes are written nevertheless
	Lose bool  // sync with Err: on a tracked Mem, what was not synced never will be, as after a real failed fsync
	// Flip, if not 0, flips bit Flip-1 (modulo the length) of what is written or read; Err may be nil.
	Flip int
}

// Inject returns fsys with faults. decide is called before each operation, by whichever goroutine does it, and may
// itself look at fsys; nil lets the operation happen.
func Inject(fsys FS, decide func(Op) *Fault) FS { return &faultFS{fsys, decide} }

type faultFS struct {
	FS
	decide func(Op) *Fault
}

// fails reports the error of the fault that decide chose, if any.
func (s *faultFS) fails(kind OpKind, name string) error {
	if f := s.decide(Op{Kind: kind, Path: name}); f != nil {
		return f.Err
	}
	return nil
}

func (s *faultFS) OpenFile(name string, flag int) (File, error) {
	if err := s.fails(OpOpen, name); err != nil {
		return nil, pathError("open", name, err)
	}
	f, err := s.FS.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, s.decide}, nil
}

func (s *faultFS) Create(name string) (File, error) {
	if err := s.fails(OpOpen, name); err != nil {
		return nil, pathError("open", name, err)
	}
	f, err := s.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, s.decide}, nil
}

func (s *faultFS) Remove(name string) error {
	if err := s.fails(OpRemove, name); err != nil {
		return pathError("remove", name, err)
	}
	return s.FS.Remove(name)
}

func (s *faultFS) RemoveAll(name string) error {
	if err := s.fails(OpRemove, name); err != nil {
		return pathError("remove", name, err)
	}
	return s.FS.RemoveAll(name)
}

func (s *faultFS) Rename(oldname, newname string) error {
	if err := s.fails(OpRename, oldname); err != nil {
		return pathError("rename", oldname, err)
	}
	return s.FS.Rename(oldname, newname)
}

func (s *faultFS) MkdirAll(dir string) error {
	if err := s.fails(OpMkdir, dir); err != nil {
		return pathError("mkdir", dir, err)
	}
	return s.FS.MkdirAll(dir)
}

func (s *faultFS) ReadDir(dir string) ([]Entry, error) {
	if err := s.fails(OpReadDir, dir); err != nil {
		return nil, pathError("readdir", dir, err)
	}
	return s.FS.ReadDir(dir)
}

func (s *faultFS) Stat(name string) (Info, error) {
	if err := s.fails(OpStat, name); err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return s.FS.Stat(name)
}

func (s *faultFS) SyncDir(dir string) error {
	if err := s.fails(OpSyncDir, dir); err != nil {
		return pathError("syncdir", dir, err)
	}
	return s.FS.SyncDir(dir)
}

type faultFile struct {
	File
	decide func(Op) *Fault
}

func flip(b []byte, bit int) {
	if bit > 0 && len(b) > 0 {
		bit = (bit - 1) % (8 * len(b))
		b[bit/8] ^= 1 << (bit % 8)
	}
}

func (f *faultFile) ReadAt(b []byte, off int64) (int, error) {
	fault := f.decide(Op{OpRead, f.Name(), off, len(b)})
	if fault != nil && fault.Err != nil {
		return 0, pathError("read", f.Name(), fault.Err)
	}
	n, err := f.File.ReadAt(b, off)
	if fault != nil {
		flip(b[:n], fault.Flip)
	}
	return n, err
}

func (f *faultFile) WriteAt(b []byte, off int64) (int, error) {
	fault := f.decide(Op{OpWrite, f.Name(), off, len(b)})
	if fault == nil {
		return f.File.WriteAt(b, off)
	}
	if fault.Err != nil {
		n := min(max(fault.Keep, 0), len(b))
		if n > 0 {
			if m, err := f.File.WriteAt(b[:n], off); err != nil {
				return m, err
			}
		}
		return n, pathError("write", f.Name(), fault.Err)
	}
	c := append([]byte(nil), b...)
	flip(c, fault.Flip)
	return f.File.WriteAt(c, off)
}

func (f *faultFile) sync(do func() error) error {
	if fault := f.decide(Op{Kind: OpSync, Path: f.Name()}); fault != nil && fault.Err != nil {
		if m, ok := f.File.(*memFile); ok && fault.Lose {
			m.data.lose()
		}
		return pathError("sync", f.Name(), fault.Err)
	}
	return do()
}

func (f *faultFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *faultFile) Datasync() error { return f.sync(f.File.Datasync) }

func (f *faultFile) Truncate(size int64) error {
	if fault := f.decide(Op{Kind: OpTruncate, Path: f.Name(), Off: size}); fault != nil && fault.Err != nil {
		return pathError("truncate", f.Name(), fault.Err)
	}
	return f.File.Truncate(size)
}

func (f *faultFile) Allocate(off, n int64) error {
	if fault := f.decide(Op{OpAllocate, f.Name(), off, int(n)}); fault != nil && fault.Err != nil {
		return pathError("allocate", f.Name(), fault.Err)
	}
	return f.File.Allocate(off, n)
}
