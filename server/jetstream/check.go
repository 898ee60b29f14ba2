package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"godwit/stream"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// ErrNoStreams: there is no stream below a directory.
var ErrNoStreams = errors.New("no stream is stored there")

// StreamCheck is the outcome of checking one stream.
type StreamCheck struct {
	Dir     string
	Account string
	Stream  string
	*stream.Checked
	Err      error // why it could not be checked
	Repaired bool
}

// StoredStreams lists the directories of streams in dir or below it, sorted. The error is ErrNoStreams, or what reading
// gave.
func StoredStreams(dir string) (list []string, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			if filepath.Ext(path) == ".log" {
				if info, err := d.Info(); err == nil {
					bytes += info.Size()
				}
			}
			return nil
		}
		for _, name := range []string{metaFile, metaCopy} {
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				list = append(list, path)
				break
			}
		}
		return nil
	})
	if err == nil && len(list) == 0 {
		err = ErrNoStreams
	}
	slices.Sort(list)
	return list, bytes, err
}

// CheckStream verifies a stream's directory. With repair what can be made again is made again: the directory must not be
// in use. progress is told of bytes read.
func CheckStream(dir string, repair bool, progress func(bytes int64)) StreamCheck {
	c := StreamCheck{Dir: dir}
	fsys := vfs.OS()
	m, why, err := readMeta(fsys, dir)
	if err != nil {
		c.Err = fmt.Errorf("%s: %w: without it the log cannot be verified", filepath.Join(dir, metaFile), err)
		return c
	}
	c.Account, c.Stream = m.Account, m.Config.Name
	var parts []stream.Options
	for i := range max(1, m.Config.Partitions) {
		o := stream.Options{FS: fsys, Config: m.first(), Created: m.Created}.Of(i)
		m.place(dir, i, &o)
		parts = append(parts, o)
		one, err := stream.Check(o, progress)
		if err != nil {
			c.Err = err
			return c
		}
		if i == 0 {
			c.Checked = one
		} else {
			c.add(one)
		}
	}
	if why != nil {
		c.Faults = append(c.Faults, segment.Fault{Path: filepath.Join(dir, metaFile), Reason: why.Error(), Derived: true})
	}
	if !repair || !slices.ContainsFunc(c.Faults, func(f segment.Fault) bool { return f.Derived }) {
		return c
	}
	if why != nil {
		if c.Err = writeMeta(fsys, dir, m); c.Err != nil {
			return c
		}
	}
	for _, o := range parts {
		inside := slices.DeleteFunc(slices.Clone(c.Faults), func(f segment.Fault) bool { return filepath.Dir(f.Path) != filepath.Clean(o.Dir) })
		if c.Err = stream.Repair(o, inside); c.Err != nil {
			return c
		}
	}
	c.Repaired = true
	return c
}

// add adds what was found in another partition.
func (c *StreamCheck) add(one *stream.Checked) {
	c.State.Msgs += one.State.Msgs
	c.State.Bytes += one.State.Bytes
	c.Segments += one.Segments
	c.Batches += one.Batches
	c.Bytes += one.Bytes
	c.Torn += one.Torn
	c.Faults = append(c.Faults, one.Faults...)
}
