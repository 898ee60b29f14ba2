package stream

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// storedFiles reads all files of a partition.
func storedFiles(t *testing.T, fs vfs.FS, dir string) map[string][]byte {
	t.Helper()
	list, err := fs.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range list {
		b, err := vfs.ReadFile(fs, path.Join(dir, e.Name), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		files[path.Join(dir, e.Name)] = b
	}
	return files
}

func withFiles(t *testing.T, dir string, files map[string][]byte) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if err := vfs.WriteFileSync(fs, name, b); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// damagedBench is a closed partition of several segments with everything in it, and what its messages were.
func damagedBench(t *testing.T) (b *bench, files map[string][]byte, want map[uint64]string) {
	b = openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e18}, func(o *Options) { o.SegmentBytes, o.TailBytes = 4<<10, 4<<10 })
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	for i := range 60 {
		b.pubs(testMsg{subject: fmt.Sprint("s.", i%5), value: strings.Repeat("v", i), headers: []string{"A: b"}}, testMsg{subject: "s.z", value: fmt.Sprint("z", i)})
		if i == 40 {
			b.checkpoint()
		}
	}
	_, replies := b.pull("C", 20)
	b.ackSync("C", replies[3:9]...)
	if err := b.p.Delete(33); err != nil {
		t.Fatal(err)
	}
	want = map[uint64]string{}
	for _, seq := range b.stored() {
		m, _ := b.get(jsapi.MsgGetRequest{Seq: seq})
		want[seq] = fmt.Sprintf("%s %q %q", m.Subject, m.Header, m.Data)
	}
	b.close()
	return b, storedFiles(t, b.fs, "/s/0"), want
}

// One bit flipped or one byte cut, anywhere in any file: Check finds it, nothing wrong is served, and what is not in the
// damaged batch still is. What is said to be lost covers what is missing.
func TestDamageIsFoundAndNeverServed(t *testing.T) {
	b, files, want := damagedBench(t)
	options := func(fs vfs.FS) Options {
		return Options{Dir: "/s/0", FS: fs, Key: [32]byte{1}, SegmentBytes: 4 << 10, TailBytes: 4 << 10, Config: b.cfg}
	}
	clean, err := Check(options(withFiles(t, "/s/0", files)), func(int64) {})
	if err != nil || len(clean.Faults) > 0 || clean.State.Msgs != uint64(len(want)) || clean.Consumers != 1 {
		t.Fatalf("%+v %v", clean, err)
	}
	const step = 3 // every 15th place; 1 tries a fifth of all
	tried := 0
	for name, content := range files {
		for at := tried % 5; at < len(content); at += 5 * step {
			tried++
			changed := bytes.Clone(content)
			if tried%4 == 0 {
				changed = append(changed[:at], changed[at+1:]...)
			} else {
				changed[at] ^= 1 << (tried % 8)
			}
			broken := make(map[string][]byte, len(files))
			for n, c := range files {
				broken[n] = c
			}
			broken[name] = changed
			what := fmt.Sprintf("%s at %d of %d", name, at, len(content))
			c, err := Check(options(withFiles(t, "/s/0", broken)), func(int64) {})
			found := err != nil || len(c.Faults) > 0 || c.Torn > 0
			if room := len(bytes.TrimRight(content, "\x00")); !found && at < room && !strings.HasSuffix(name, "index") {
				// Behind the room nothing was ever written; indexes have gaps between pages, and were compared.
				t.Fatalf("%s: not found", what)
			}
			if err != nil {
				continue // refused as a whole
			}
			checkServed(t, what, options(withFiles(t, "/s/0", broken)), want, c.Faults)
		}
	}
	t.Logf("%d places in %d files", tried, len(files))
}

// checkServed opens a damaged partition and holds what it serves to what was stored.
func checkServed(t *testing.T, what string, o Options, want map[uint64]string, faults []segment.Fault) {
	t.Helper()
	p, err := openQuiet(o)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer p.log.Close()
	lost := func(seq uint64) bool {
		for _, f := range faults {
			if f.First > 0 && seq >= f.First && seq <= f.Last {
				return true
			}
		}
		return false
	}
	var r segment.Record
	for seq, text := range want {
		if _, err := p.log.Read(seq, &r); err == nil {
			if got := fmt.Sprintf("%s %q %q", r.Subject, r.Header, r.Value); got != text {
				t.Fatalf("%s: message %d is served as %s", what, seq, got)
			}
		} else if !lost(seq) {
			t.Fatalf("%s: message %d: %v; said to be damaged: %v", what, seq, err, faults)
		}
	}
}

// What can be made again is, and then all is well.
func TestRepairMakesAgainWhatIsDerived(t *testing.T) {
	b, files, want := damagedBench(t)
	for name := range files {
		if strings.HasSuffix(name, ".log") {
			continue
		}
		broken := make(map[string][]byte, len(files))
		for n, c := range files {
			broken[n] = c
		}
		broken[name] = bytes.Clone(files[name])
		broken[name][len(broken[name])/2] ^= 1
		fs := withFiles(t, "/s/0", broken)
		o := Options{Dir: "/s/0", FS: fs, Key: [32]byte{1}, SegmentBytes: 4 << 10, TailBytes: 4 << 10, Config: b.cfg}
		c, err := Check(o, func(int64) {})
		if err != nil || len(c.Faults) == 0 || c.Lost() {
			t.Fatalf("%s: %+v %v", name, c, err)
		}
		if err := Repair(o, c.Faults); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c, err = Check(o, func(int64) {}); err != nil || len(c.Faults) > 0 || c.State.Msgs != uint64(len(want)) || c.Consumers != 1 {
			t.Fatalf("%s after the repair: %+v %v", name, c, err)
		}
	}
}
