package jetstream

import (
	"io"
	"path/filepath"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
	"godwit/stream"
	"godwit/stream/archive"
	"godwit/stream/vfs"
)

// Restoration is a stream that is being made from a backup. It becomes visible when Finish succeeds; until then its files
// lie in a directory that a start removes.
type Restoration struct {
	a   *Account
	m   *meta
	dir string // empty for a memory stream
	fs  vfs.FS
}

// BeginRestore checks whether a stream of the configuration can be made.
func (a *Account) BeginRestore(cfg jsapi.StreamConfig) (*Restoration, *jsapi.Error) {
	a.admin.Lock()
	defer a.admin.Unlock()
	if a.Stream(cfg.Name) != nil {
		return nil, jsapi.Err(jsapi.ErrStreamNameExistRestoreFailed)
	}
	if err := a.checkNew(&cfg, false); err != nil {
		return nil, err
	}
	cfg.Metadata = jsapi.WithLevel(cfg.Metadata, cfg.RequiredLevel())
	return &Restoration{a: a, m: a.newMeta(cfg)}, nil
}

// Write makes the stream's log from an archive. It may take long. After an error Abort.
func (r *Restoration) Write(from io.Reader) error {
	so := r.a.streamOptions(r.m)
	if r.m.Config.Storage == jsapi.MemoryStorage {
		r.fs = so.FS
	} else {
		dir, err := r.a.makeDir(r.m)
		if err != nil {
			return err
		}
		r.dir = dir
	}
	in, err := archive.NewReader(from)
	if err != nil {
		return err
	}
	return stream.Restore(so, func(i int, o *stream.Options) { r.m.place(r.dir, i, o) }, in)
}

// Finish takes the stream in.
func (r *Restoration) Finish() (*Stream, *jsapi.Error) {
	a := r.a
	a.admin.Lock()
	defer a.admin.Unlock()
	if a.Stream(r.m.Config.Name) != nil {
		return nil, jsapi.Err(jsapi.ErrStreamNameExistRestoreFailed)
	}
	cfg := r.m.Config
	if err := a.checkNew(&cfg, false); err != nil {
		return nil, err
	}
	dir := ""
	if r.dir != "" {
		var err error
		if dir, err = a.place(r.dir, r.m.Config.Name); err != nil {
			return nil, jsapi.Wrap(jsapi.ErrStreamRestore, err)
		}
		r.dir = ""
	}
	s, err := a.open(r.m, dir, r.fs)
	if err != nil {
		if dir != "" {
			_ = a.erase(dir, r.m.UID) // the error of open says more
		}
		return nil, jsapi.Wrap(jsapi.ErrStreamRestore, err)
	}
	a.announce("CREATED", "create", s.name)
	return s, nil
}

// Abort removes what was written.
func (r *Restoration) Abort() {
	if r.dir == "" {
		return
	}
	if err := r.a.service.opts.FS.RemoveAll(r.dir); err != nil {
		r.a.service.opts.Warnf("JetStream: restore of %s > %s was given up; %s is left: %v", r.a.name, r.m.Config.Name, r.dir, err)
	}
	r.dir = ""
}

// newMeta makes what a new stream is known by.
func (a *Account) newMeta(cfg jsapi.StreamConfig) *meta {
	return &meta{Format: metaFormat, Account: a.name, UID: nuid.Next(), Created: time.Now().UTC(), Config: cfg}
}

// makeDir makes the directory of a stream that is not there yet, under a name that a start removes.
func (a *Account) makeDir(m *meta) (dir string, err error) {
	dir = filepath.Join(a.dir, newPrefix+m.UID)
	if err := vfs.MkdirAllSync(a.service.opts.FS, dir); err != nil {
		return dir, err
	}
	return dir, writeMeta(a.service.opts.FS, dir, m)
}

// place gives a directory that makeDir has made the stream's name.
func (a *Account) place(fresh, name string) (dir string, err error) {
	dir = filepath.Join(a.dir, fileName(name))
	if err := a.setAside(dir); err != nil {
		return dir, err
	}
	if err := a.service.opts.FS.Rename(fresh, dir); err != nil {
		return dir, err
	}
	return dir, a.service.opts.FS.SyncDir(a.dir)
}
