package segment

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"godwit/stream/vfs"
)

func TestOptionsNameEveryBadField(t *testing.T) {
	_, _, err := Open(Options{SegmentBytes: 1, MaxBatchBytes: -1, Sync: 9, SyncEvery: -1, TailBytes: -1})
	for _, field := range []string{"Dir", "SegmentBytes", "MaxBatchBytes", "Sync is", "SyncEvery", "TailBytes"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	o := testOptions(vfs.NewMem())
	w, _ := openWriter(t, o)
	must(t, w.append("one", "two"))
	good := AppendRecord(nil, &Record{Value: []byte("v")})
	head := Head{Kind: KindMessages, Index: 2, Base: 3, Count: 1}
	with := func(change func(h *Head)) Head { h := head; change(&h); return h }
	cases := []struct {
		name string
		head Head
		body [][]byte
		want error
	}{
		{"body too large", head, [][]byte{make([]byte, o.MaxBatchBytes+1)}, ErrBatchTooLarge},
		{"no kind", with(func(h *Head) { h.Kind = 0 }), [][]byte{good}, ErrBadBatch},
		{"kind unknown", with(func(h *Head) { h.Kind = 4 }), [][]byte{good}, ErrBadBatch},
		{"no messages", with(func(h *Head) { h.Count = 0 }), nil, ErrBadBatch},
		{"messages in a command", with(func(h *Head) { h.Kind = KindCommand }), [][]byte{good}, ErrBadBatch},
		{"fewer records", with(func(h *Head) { h.Count = 2 }), [][]byte{good}, ErrBadBatch},
		{"more records", head, [][]byte{good, good}, ErrBadBatch},
		{"bytes behind", head, [][]byte{good, {1}}, ErrBadBatch},
		{"cut record", head, [][]byte{good[:len(good)-1]}, ErrBadBatch},
		{"cut record in parts", head, [][]byte{good[:2], good[2 : len(good)-1]}, ErrBadBatch},
		{"index again", with(func(h *Head) { h.Index = 1 }), [][]byte{good}, ErrOutOfOrder},
		{"index left out", with(func(h *Head) { h.Index = 3 }), [][]byte{good}, ErrOutOfOrder},
		{"sequence again", with(func(h *Head) { h.Base = 2 }), [][]byte{good}, ErrOutOfOrder},
		{"sequences overflow", with(func(h *Head) { h.Base = math.MaxUint64 }), [][]byte{good}, ErrBadBatch},
	}
	for _, c := range cases {
		if err := w.log.Append(c.head, c.body...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	must(t, w.append("three"))
	checkAll(t, w.log, w.messages)
	if err := w.log.SaveCheckpoint(2, nil); !errors.Is(err, ErrNotFlushed) {
		t.Errorf("checkpoint before flush: %v", err)
	}
	w.flush(t, true)
	must(t, w.log.SaveCheckpoint(2, nil))
	if err := w.log.SaveCheckpoint(1, nil); !errors.Is(err, ErrOutOfOrder) {
		t.Errorf("older checkpoint: %v", err)
	}
	must(t, w.log.Close())
	if err := w.append("four"); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := w.log.Flush(true); !errors.Is(err, ErrClosed) {
		t.Errorf("flush: %v", err)
	}
	if err := w.log.SaveCheckpoint(2, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("checkpoint: %v", err)
	}
	if err := w.log.DropBefore(2); !errors.Is(err, ErrClosed) {
		t.Errorf("drop: %v", err)
	}
	if err := w.log.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("close: %v", err)
	}
	w2, _ := openWriter(t, o)
	c := w2.log.NewCursor(0)
	must(t, w2.log.Close())
	var r Record
	if _, _, ok, err := c.Next(9, &r); ok || !errors.Is(err, ErrClosed) {
		t.Errorf("cold read of a closed log: %v %v", ok, err)
	}
}

// TestFirstBatchDecides lets a log begin with any index and sequence.
func TestFirstBatchDecides(t *testing.T) {
	o := testOptions(vfs.NewMem())
	w, _ := openWriter(t, o)
	if w.log.FirstBase() != 1 || w.log.NextSeq() != 1 || w.log.LastIndex() != 0 || w.log.Bytes() != 0 {
		t.Fatal("empty log is not empty")
	}
	w.index, w.next = 76, 1<<40
	must(t, w.append("one"))
	must(t, w.log.Close())
	w2, report := openWriter(t, o)
	if len(report.Damage) > 0 || w2.log.FirstBase() != 1<<40 || w2.index != 77 {
		t.Fatalf("%+v", report)
	}
	checkAll(t, w2.log, w.messages)
	must(t, w2.log.Close())
}

// TestSegmentsWithoutMessages fills segments with progress only: their names must differ.
func TestSegmentsWithoutMessages(t *testing.T) {
	o := testOptions(vfs.NewMem())
	w, _ := openWriter(t, o)
	must(t, w.append("one"))
	for i := range 20 {
		must(t, w.command(text(i, 5000)))
		w.flush(t, true)
	}
	must(t, w.append("two"))
	w.flush(t, true)
	checkAll(t, w.log, w.messages)
	must(t, w.log.Close())
	w2, report := openWriter(t, o)
	if report.Segments < 6 || report.Replayed != 22 || len(report.Damage) > 0 {
		t.Fatalf("%+v", report)
	}
	checkAll(t, w2.log, w.messages)
	must(t, w2.log.SaveCheckpoint(22, nil))
	before := w2.log.Bytes()
	must(t, w2.log.DropBefore(2))
	if w2.log.Bytes() > before/4 {
		t.Fatalf("%d bytes of %d are left", w2.log.Bytes(), before)
	}
	checkAll(t, w2.log, w.messages[1:])
	must(t, w2.log.Close())
}

func TestDropNeedsCheckpoints(t *testing.T) {
	o := testOptions(vfs.NewMem())
	w, _ := openWriter(t, o)
	for i := range 40 {
		must(t, w.append(text(i, 3000)))
		w.flush(t, true)
	}
	bytes := w.log.Bytes()
	try := func(want string) {
		t.Helper()
		must(t, w.log.DropBefore(41))
		got := "nothing"
		switch first := w.log.FirstBase(); {
		case first > 30:
			got = "all but the last"
		case first > 1:
			got = "some"
		}
		if got != want {
			t.Fatalf("dropped %s, want %s; begins at %d", got, want, w.log.FirstBase())
		}
	}
	try("nothing")
	must(t, w.log.SaveCheckpoint(20, []byte("20")))
	try("some")
	must(t, w.log.SaveCheckpoint(40, []byte("40")))
	try("all but the last")
	if w.log.Bytes() > bytes/4 {
		t.Fatalf("%d bytes of %d are left", w.log.Bytes(), bytes)
	}
	must(t, w.log.Close())
	// One is damaged: its copy still gives the whole state.
	change(t, o.FS, filepath.Join(o.Dir, checkpointFile{40, false}.name()), func(b []byte) []byte { b[30]++; return b })
	var restored uint64
	replayed := 0
	o.Restore = func(index uint64, _ []byte) error { restored = index; return nil }
	o.Replay = func(h Head, _ []byte) error { replayed++; return nil }
	w, report := openWriter(t, o)
	if restored != 40 || replayed != 0 || len(report.Damage) != 1 {
		t.Fatalf("restored %d, replayed %d, %+v", restored, replayed, report)
	}
	for i := range 3 { // the same index again and again: always two files
		must(t, w.log.SaveCheckpoint(40, []byte("again")))
		entries, err := o.FS.ReadDir(o.Dir)
		must(t, err)
		n := 0
		for _, e := range entries {
			if strings.HasSuffix(e.Name, extCheckpoint) {
				n++
			}
		}
		if n != 2 {
			t.Fatalf("%d checkpoints after %d more", n, i+1)
		}
	}
	must(t, w.log.Close())
	l, report, err := Open(o)
	must(t, err)
	if restored != 40 || len(report.Damage) != 0 {
		t.Fatalf("restored %d, %+v", restored, report)
	}
	must(t, l.Close())
}

// TestCursorPassesDroppedSegments has a cursor wait in a segment that goes.
func TestCursorPassesDroppedSegments(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.TailBytes = 1
	w, _ := openWriter(t, o)
	for i := range 40 {
		must(t, w.append(text(i, 3000)))
		w.flush(t, true)
	}
	var r Record
	c, d := w.log.NewCursor(1), w.log.NewCursor(3)
	for range 2 {
		if _, _, ok, err := c.Next(99, &r); !ok || err != nil {
			t.Fatal(err)
		}
	}
	c.Release()
	must(t, w.log.SaveCheckpoint(40, nil))
	must(t, w.log.DropBefore(30))
	for _, c := range []*Cursor{c, d} {
		if seq, _, ok, err := c.Next(99, &r); !ok || err != nil || seq != w.log.FirstBase() || seq < 20 {
			t.Fatalf("next is %d %v %v, the log begins at %d", seq, ok, err, w.log.FirstBase())
		}
	}
	must(t, w.log.Close())
}

// TestSeqAt compares with a search of all messages. Times wander, so that they run backwards at times.
func TestSeqAt(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.SegmentBytes = 384 << 10
	w, _ := openWriter(t, o)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		w.time += rng.Int64N(100) - 40
		must(t, w.append(text(i, rng.IntN(500)), text(i, 10)))
		if i%10 == 0 {
			w.flush(t, true)
		}
	}
	check := func() {
		t.Helper()
		for range 500 {
			at := w.messages[rng.IntN(len(w.messages))].time + rng.Int64N(3) - 1
			want := w.next
			for i := range w.messages {
				if w.messages[i].time >= at {
					want = w.messages[i].seq
					break
				}
			}
			if got := w.log.SeqAt(at); got != want {
				t.Fatalf("sequence at %d is %d, want %d", at, got, want)
			}
		}
		if got := w.log.SeqAt(math.MinInt64); got != 1 {
			t.Fatalf("first is %d", got)
		}
		if got := w.log.SeqAt(math.MaxInt64); got != w.next {
			t.Fatalf("behind the last is %d", got)
		}
	}
	check()
	w.flush(t, true)
	must(t, w.log.SaveCheckpoint(w.index-1000, nil)) // a part of the index comes from it
	must(t, w.log.Close())
	messages := w.messages
	w, report := openWriter(t, o)
	if report.Segments < 3 || report.Replayed != 1000 {
		t.Fatalf("%+v", report)
	}
	w.messages = messages
	check()
	must(t, w.log.Close())
}

func TestAppendAllocatesNothing(t *testing.T) {
	o := testOptions(vfs.NewVolatile())
	o.Sync = SyncOS
	o.SegmentBytes, o.TailBytes = 1<<30, 8<<20
	l, _, err := Open(o)
	must(t, err)
	var body []byte
	for range 10 {
		body = AppendRecord(body, &Record{Subject: []byte("subject"), Value: make([]byte, 128)})
	}
	h := Head{Kind: KindMessages, Base: 1, Count: 10, Time: 1}
	parts := [][]byte{body[:len(body)/2], body[len(body)/2:]}
	for _, parts := range [][][]byte{{body}, parts} {
		limit := 0.0
		if len(parts) == 2 {
			limit = 1 // a record that spans parts is put together once
		}
		n := testing.AllocsPerRun(2000, func() {
			h.Index++
			must(t, l.Append(h, parts...))
			h.Base += 10
			if h.Index%20 == 0 {
				if _, err := l.Flush(true); err != nil {
					t.Fatal(err)
				}
			}
		})
		if n > limit {
			t.Errorf("%v allocations for a batch of %d parts", n, len(parts))
		}
	}
	must(t, l.Close())
}

func TestNextAllocatesNothing(t *testing.T) {
	o := testOptions(vfs.NewVolatile())
	o.Sync = SyncOS
	o.SegmentBytes, o.TailBytes = 1<<30, 64<<10
	w, _ := openWriter(t, o)
	for i := range 20000 {
		must(t, w.append(text(i, 100)))
		if i%100 == 0 {
			w.flush(t, true)
		}
	}
	var r Record
	for _, from := range []uint64{1, w.next - 300} { // cold, tail
		c := w.log.NewCursor(from)
		n := testing.AllocsPerRun(200, func() {
			if _, _, ok, err := c.Next(w.next, &r); !ok || err != nil {
				t.Fatal(ok, err)
			}
		})
		if n > 0 {
			t.Errorf("%v allocations from %d", n, from)
		}
	}
	must(t, w.log.Close())
}

// TestZerosAreKeptAhead sees that small synced appends overwrite zeros, and that nothing is left of them at the end.
func TestZerosAreKeptAhead(t *testing.T) {
	var grown, inside atomic.Int32
	disk := vfs.NewMem()
	size := func(path string) int64 {
		info, err := disk.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size
	}
	o := testOptions(vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
		if op.Kind == vfs.OpWrite && filepath.Ext(op.Path) == extLog && op.Len < 4096 {
			if op.Off+int64(op.Len) > size(op.Path) {
				grown.Add(1)
			} else {
				inside.Add(1)
			}
		}
		return nil
	}))
	o.SegmentBytes = 1 << 20
	w, _ := openWriter(t, o)
	for i := range 2000 {
		must(t, w.append(text(i, 300)))
		w.flush(t, true)
		must(t, w.log.syncTo(w.index))
		w.log.waitForTasks()
	}
	if g, n := grown.Load(), inside.Load(); g > 20 || n < 1900 {
		t.Fatalf("%d writes grew the file, %d did not", g, n)
	}
	if size(w.log.active.logPath()) <= w.log.active.size.Load() {
		t.Fatal("no zeros ahead at the end")
	}
	checkAll(t, w.log, w.messages)
	path, end := w.log.active.logPath(), w.log.active.size.Load()
	again := copyFS(t, disk)
	must(t, w.log.Close())
	if size(path) != end {
		t.Fatalf("file has %d bytes after close, its batches %d", size(path), end)
	}
	// As after a kill: the zeros are no damage, and are used again.
	o.FS = again
	w2, report := openWriter(t, o)
	if len(report.Damage) > 0 || report.Cut > 0 || w2.log.active == nil || w2.log.active.zero.ready <= end {
		t.Fatalf("%+v", report)
	}
	checkAll(t, w2.log, w.messages)
	must(t, w2.log.Close())
}
