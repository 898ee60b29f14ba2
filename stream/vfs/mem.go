package vfs

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Mem is a file system in memory. One made by NewMem tracks which bytes and names have been synced, at the price of
// holding everything unsynced twice; one made by NewVolatile does not.
type Mem struct {
	tracked bool
	root    *memNode
	// mu guards the tree: the maps and operations of all directories. It ranks before memData.mu.
	mu sync.Mutex
}

// NewMem returns an empty file system for tests, whose CrashClone shows what a power cut would leave.
func NewMem() *Mem { return newMem(true) }

// NewVolatile returns an empty file system for data that need not outlive the process. Sync and SyncDir do nothing.
func NewVolatile() *Mem { return newMem(false) }

func newMem(tracked bool) *Mem {
	return &Mem{tracked: tracked, root: newMemDir()}
}

// memNode is a file (data is set) or a directory.
type memNode struct {
	data    *memData
	entries map[string]*memNode
	// Of a tracked directory: what a power cut leaves for certain, and the changes since, in order.
	stable map[string]*memNode
	ops    []memDirOp
}

func newMemDir() *memNode {
	return &memNode{entries: map[string]*memNode{}, stable: map[string]*memNode{}}
}

// memDirOp sets a name to a node, or removes it (nil). A rename within a directory is one operation on two names.
type memDirOp struct {
	name string
	node *memNode
	gone string // if not empty: the name that is removed in the same moment
}

func split(name string) []string {
	name = path.Clean("/" + filepath.ToSlash(name))
	if name == "/" {
		return nil
	}
	return strings.Split(name[1:], "/")
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

var (
	errIsDir    = errors.New("is a directory")
	errNotDir   = errors.New("not a directory")
	errNotEmpty = errors.New("directory not empty")
)

// findLocked returns the node at the path, nil if there is none.
func (m *Mem) findLocked(parts []string) *memNode {
	n := m.root
	for _, p := range parts {
		if n = n.entries[p]; n == nil {
			return nil
		}
	}
	return n
}

// parentLocked returns the directory that holds name, and name's last element.
func (m *Mem) parentLocked(op, name string) (*memNode, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", pathError(op, name, fs.ErrInvalid)
	}
	d := m.findLocked(parts[:len(parts)-1])
	if d == nil {
		return nil, "", pathError(op, name, fs.ErrNotExist)
	}
	if d.data != nil {
		return nil, "", pathError(op, name, errNotDir)
	}
	return d, parts[len(parts)-1], nil
}

// changeLocked applies an operation to a directory.
func (m *Mem) changeLocked(d *memNode, op memDirOp) {
	op.apply(d.entries)
	if m.tracked {
		d.ops = append(d.ops, op)
	}
}

func (op *memDirOp) apply(entries map[string]*memNode) {
	if op.gone != "" {
		delete(entries, op.gone)
	}
	if op.node == nil {
		delete(entries, op.name)
		return
	}
	entries[op.name] = op.node
}

func (m *Mem) OpenFile(name string, flag int) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parentLocked("open", name)
	if err != nil {
		return nil, err
	}
	n := d.entries[base]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, fs.ErrNotExist)
	case n != nil && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, pathError("open", name, fs.ErrExist)
	case n != nil && n.data == nil:
		return nil, pathError("open", name, errIsDir)
	case n == nil:
		n = &memNode{data: &memData{tracked: m.tracked}}
		m.changeLocked(d, memDirOp{name: base, node: n})
	case flag&os.O_TRUNC != 0:
		n.data.truncate(0)
	}
	return &memFile{name: name, data: n.data, write: flag&(os.O_RDWR|os.O_WRONLY) != 0}, nil
}

func (m *Mem) Create(name string) (File, error) {
	return m.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parentLocked("remove", name)
	if err != nil {
		return err
	}
	n := d.entries[base]
	if n == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if len(n.entries) > 0 {
		return pathError("remove", name, errNotEmpty)
	}
	m.changeLocked(d, memDirOp{name: base})
	return nil
}

func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parentLocked("remove", name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if d.entries[base] != nil {
		m.changeLocked(d, memDirOp{name: base})
	}
	return nil
}

func (m *Mem) Rename(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, oldBase, err := m.parentLocked("rename", oldname)
	if err != nil {
		return err
	}
	to, newBase, err := m.parentLocked("rename", newname)
	if err != nil {
		return err
	}
	n := from.entries[oldBase]
	if n == nil {
		return pathError("rename", oldname, fs.ErrNotExist)
	}
	if from == to {
		if oldBase != newBase {
			m.changeLocked(to, memDirOp{name: newBase, node: n, gone: oldBase})
		}
		return nil
	}
	m.changeLocked(to, memDirOp{name: newBase, node: n})
	m.changeLocked(from, memDirOp{name: oldBase})
	return nil
}

func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.root
	for _, p := range split(dir) {
		n := d.entries[p]
		if n == nil {
			n = newMemDir()
			m.changeLocked(d, memDirOp{name: p, node: n})
		}
		if n.data != nil {
			return pathError("mkdir", dir, errNotDir)
		}
		d = n
	}
	return nil
}

func (m *Mem) dirLocked(op, dir string) (*memNode, error) {
	d := m.findLocked(split(dir))
	if d == nil {
		return nil, pathError(op, dir, fs.ErrNotExist)
	}
	if d.data != nil {
		return nil, pathError(op, dir, errNotDir)
	}
	return d, nil
}

func (m *Mem) ReadDir(dir string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.dirLocked("readdir", dir)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, 0, len(d.entries))
	for name, n := range d.entries {
		list = append(list, Entry{Name: name, Dir: n.data == nil})
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.findLocked(split(name))
	if n == nil {
		return Info{}, pathError("stat", name, fs.ErrNotExist)
	}
	if n.data == nil {
		return Info{Dir: true}, nil
	}
	return Info{Size: n.data.length()}, nil
}

func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.dirLocked("syncdir", dir)
	if err != nil {
		return err
	}
	for i := range d.ops {
		d.ops[i].apply(d.stable)
	}
	d.ops = nil
	return nil
}

// Space reports memory as without bound; whoever keeps streams here limits them.
func (m *Mem) Space(string) (total, free int64, err error) {
	return math.MaxInt64 / 2, math.MaxInt64 / 2, nil
}
