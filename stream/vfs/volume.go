package vfs

import (
	"errors"
	"path/filepath"
)

// ErrNoVolume: syncing the file system as a whole would not be safe, or is not possible.
var ErrNoVolume = errors.New("vfs: file system cannot be synced as a whole")

// Volume is a file system that can be synced as a whole: every file and directory on it, whoever wrote them.
//
// Sync reports every failure to write since the Volume was opened or Sync last returned; after an error nothing is known
// of what was written since the last success, and the Volume must not be used again, as failures that belong to files of
// others have been reported away.
type Volume interface {
	Sync() error
	// Holds reports whether what is written in dir, which exists, is on this file system.
	Holds(dir string) bool
	Close() error
}

// OpenVolume returns the file system that holds dir. The error is ErrNoVolume if it is of a kind, or the system of an
// age, for which the promises of Volume do not hold.
func OpenVolume(dir string) (Volume, error) { return openVolume(dir) }

// IsVolume reports whether dir is where a whole file system is mounted, and not only a part of it, so that syncing it
// syncs nothing else.
func IsVolume(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false
	}
	return isVolume(dir)
}

// Volume returns the memory file system as a Volume.
func (m *Mem) Volume() Volume { return memVolume{m} }

type memVolume struct{ m *Mem }

func (v memVolume) Close() error { return nil }

func (v memVolume) Holds(string) bool { return true }

func (v memVolume) Sync() error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	v.m.root.syncAll()
	return nil
}

func (n *memNode) syncAll() {
	if n.data != nil {
		n.data.sync()
		return
	}
	for i := range n.ops {
		n.ops[i].apply(n.stable)
	}
	n.ops = nil
	for _, e := range n.entries {
		e.syncAll()
	}
}

// InjectVolume returns v with faults; see Inject. The operation's kind is OpSyncVolume.
func InjectVolume(v Volume, decide func(Op) *Fault) Volume { return faultVolume{v, decide} }

type faultVolume struct {
	Volume
	decide func(Op) *Fault
}

func (v faultVolume) Sync() error {
	if f := v.decide(Op{Kind: OpSyncVolume}); f != nil && f.Err != nil {
		return pathError("syncfs", "", f.Err)
	}
	return v.Volume.Sync()
}
