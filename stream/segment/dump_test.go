package segment

import (
	"fmt"
	"path/filepath"
	"strings"

	"godwit/stream/vfs"
)

// dump describes what lies in a log's directory, for the message of a failed test.
func dump(fsys vfs.FS, dir string, key [32]byte) string {
	var out strings.Builder
	hash := newHasher(key)
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name)
		b, err := vfs.ReadFile(fsys, path, 1<<30)
		fmt.Fprintf(&out, "%s: %d bytes %v\n", e.Name, len(b), err)
		var m mark
		if ok, _ := m.decode(b, hash); ok {
			fmt.Fprintf(&out, "  %+v\n", m)
		}
		if !strings.HasSuffix(e.Name, extLog) {
			continue
		}
		var h segmentHead
		ok, _ := h.decode(b, hash)
		fmt.Fprintf(&out, "  head %v %+v\n", ok, h)
		f, err := fsys.OpenFile(path, 0)
		if err != nil {
			continue
		}
		sc := newScanner(hash)
		for pos := int64(segmentHeadBytes); ; {
			at, found, _ := sc.find(f, pos, int64(len(b)), 0)
			if !found {
				break
			}
			var bh batchHead
			bh.get(b[at:])
			fmt.Fprintf(&out, "  %d: index %d base %d count %d durable %d length %d\n", at, bh.Index, bh.Base, bh.Count, bh.durable, bh.length)
			pos = at + int64(bh.length)
		}
		f.Close()
	}
	return out.String()
}
