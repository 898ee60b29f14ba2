package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"

	"godwit/stream/vfs"
)

func TestRecordRoundTrip(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 70000)
	for _, r := range []Record{
		{},
		{Attrs: 255, TimeDelta: 63, Subject: []byte("a")},
		{TimeDelta: -64, Value: []byte("v")},
		{TimeDelta: math.MaxInt64, Subject: long[:127], Header: long[:128], Value: long},
		{TimeDelta: math.MinInt64, Header: []byte("h")},
	} {
		b := AppendRecord([]byte("before"), &r)[6:]
		var got Record
		n, err := ReadRecord(append(b, "behind"...), &got)
		if err != nil || n != len(b) || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v: got %+v, %d of %d bytes, %v", r, got, n, len(b), err)
		}
		for cut := range min(len(b), 50) {
			if _, err := ReadRecord(b[:cut], &got); !errors.Is(err, ErrBadRecord) {
				t.Errorf("cut at %d: %v", cut, err)
			}
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add(AppendRecord(nil, &Record{Attrs: 1, TimeDelta: -5, Subject: []byte("s.1"), Header: []byte("h"), Value: []byte("v")}))
	f.Add(AppendRecord(nil, &Record{TimeDelta: 1 << 40, Value: make([]byte, 300)}))
	f.Add([]byte{0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0})
	f.Add([]byte{0, 0, 0x80, 0x80, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		n, err := ReadRecord(b, &r)
		if err != nil {
			return
		}
		if n < minRecordBytes || n > len(b) {
			t.Fatalf("length %d of %d", n, len(b))
		}
		var again Record
		c := AppendRecord(nil, &r)
		if m, err := ReadRecord(c, &again); err != nil || m != len(c) || !reflect.DeepEqual(r, again) {
			t.Fatalf("%+v encodes to %+v, %v", r, again, err)
		}
		if len(c) > n { // numbers may have been longer than needed, not shorter
			t.Fatalf("%d bytes decoded, %d encoded", n, len(c))
		}
	})
}

// sealedBatch returns a batch as it is stored.
func sealedBatch(hash *hasher, h batchHead, body []byte) []byte {
	h.measure(len(body), shortMost)
	b := append(make([]byte, h.size), body...)
	h.put(b)
	hash.seal(b)
	return b
}

// FuzzBatches lets a segment file end in, or be, any bytes. seal makes the checksums right, so that what they protect
// from is seen too.
func FuzzBatches(f *testing.F) {
	hash := newHasher(testKey)
	one := sealedBatch(hash, batchHead{Head: Head{Kind: KindMessages, Index: 1, Base: 1, Count: 1}}, AppendRecord(nil, &Record{Value: []byte("v")}))
	two := sealedBatch(hash, batchHead{Head: Head{Kind: KindCommand, Index: 2, Base: 2}, durable: 1}, []byte("command"))
	long := sealedBatch(hash, batchHead{Head: Head{Kind: KindMessages, Index: 1, Term: 7, Base: 1, Count: 1}}, AppendRecord(nil, &Record{Value: make([]byte, shortMost)}))
	f.Add(long, false)
	f.Add(long, true)
	f.Add(append(bytes.Clone(one), two...), false)
	f.Add(append(bytes.Clone(one), make([]byte, 200)...), false)
	f.Add(one[:len(one)-1], false)
	f.Add(one, true)
	f.Add(two, true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		b = bytes.Clone(b)
		if seal && len(b) >= headLeast && isShort(b) {
			if n := binary.LittleEndian.Uint16(b[8:]); n >= headLeast && int(n) <= len(b) {
				hash.seal(b[:n])
			}
		} else if seal && len(b) >= batchHeadBytes {
			if n := binary.LittleEndian.Uint32(b[8:]); n >= batchHeadBytes && int64(n) <= int64(len(b)) {
				hash.seal(b[:n])
			}
		}
		o := testOptions(vfs.NewMem())
		head := segmentHead{generation: 1, serial: 1, base: 1, first: 1}
		must(t, o.FS.MkdirAll(o.Dir))
		must(t, vfs.WriteFileSync(o.FS, o.Dir+"/"+segmentName(1, 0)+extLog, head.encode(hash), b))
		last := uint64(0)
		o.Replay = func(h Head, body []byte) error {
			if h.Index <= last || h.Kind < KindMessages || h.Kind > KindCommand || h.Base == 0 {
				t.Fatalf("replayed %+v after %d", h, last)
			}
			last = h.Index
			return nil
		}
		l, _, err := Open(o)
		if errors.Is(err, ErrNewerFormat) {
			return
		}
		must(t, err)
		if _, _, err := readAnything(l); err != nil {
			t.Fatal(err)
		}
		must(t, l.Append(Head{Kind: KindCommand, Index: l.LastIndex() + 1, Base: l.NextSeq()}, []byte("x")))
		must(t, l.Close())
	})
}

// readAnything reads what there is, skipping damage.
func readAnything(l *Log) (found, damaged int, err error) {
	c := l.NewCursor(0)
	var r Record
	for {
		_, _, ok, err := c.Next(math.MaxUint64, &r)
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt):
			damaged++
			c.Skip()
		case err != nil:
			return found, damaged, err
		case !ok:
			return found, damaged, nil
		default:
			found++
		}
	}
}

func testCheckpoint() *checkpoint {
	return &checkpoint{
		index: 77,
		segments: []checkpointSegment{
			{segmentHead: segmentHead{generation: 1, serial: 3, base: 10, first: 20}, end: 5000, last: 50, maxTime: -4},
			{segmentHead: segmentHead{generation: 2, serial: 4, base: 10, first: 51}, suffix: 4},
		},
		sparse: sparse{
			entries: []sparseEntry{{0, 0, 128}, {5, 3, 5000}, {700, 4, 70000}},
			times:   []timeEntry{{math.MinInt64, 0, 128}, {math.MaxInt64, 700, 70000}},
		},
		state: []byte("state"),
	}
}

func TestCheckpointRoundTrip(t *testing.T) {
	hash := newHasher(testKey)
	for _, c := range []*checkpoint{testCheckpoint(), {index: 0, state: []byte{}}} {
		b := append(c.encode(hash), c.state...)
		var got checkpoint
		must(t, got.decode(b, hash))
		again := append(got.encode(hash), got.state...)
		if !bytes.Equal(again, b) || got.index != c.index || !bytes.Equal(got.state, c.state) {
			t.Fatalf("got %+v, want %+v", got, c)
		}
		if len(c.segments) > 0 && (!reflect.DeepEqual(got.segments, c.segments) || !reflect.DeepEqual(got.sparse, c.sparse)) {
			t.Fatalf("got %+v, want %+v", got, c)
		}
		for cut := range b {
			if err := got.decode(b[:cut], hash); !errors.Is(err, errBadCheckpoint) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	hash := newHasher(testKey)
	c := testCheckpoint()
	b := append(c.encode(hash), c.state...)
	f.Add(b, false)
	f.Add(b[:60], true)
	f.Add(b[checkpointHeadBytes:len(b)-5], true)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, true)
	f.Fuzz(func(t *testing.T, b []byte, wrap bool) {
		if wrap { // make b the log's part of a checkpoint whose hashes are right
			head := make([]byte, checkpointHeadBytes)
			copy(head[8:], checkpointMagic)
			binary.LittleEndian.PutUint32(head[16:], formatCheckpoint)
			binary.LittleEndian.PutUint64(head[32:], uint64(len(b)))
			binary.LittleEndian.PutUint64(head[48:], hash.sum(nil))
			b = append(head, b...)
			hash.sealBlock(b)
		}
		var c checkpoint
		if err := c.decode(b, hash); err != nil {
			return
		}
		var again checkpoint
		must(t, again.decode(append(c.encode(hash), c.state...), hash))
		if again.index != c.index || !bytes.Equal(again.state, c.state) || !reflect.DeepEqual(again.segments, c.segments) ||
			!reflect.DeepEqual(again.sparse, c.sparse) {
			t.Fatalf("%+v encodes to %+v", c, again)
		}
	})
}

// FuzzIndexFile reads look-ups from an index file of any content whose hashes may be right.
func FuzzIndexFile(f *testing.F) {
	hash := newHasher(testKey)
	s := newSegment(vfs.NewMem(), "/", 0, segmentHead{generation: 1, serial: 1, base: 1, first: 1})
	x := &sparse{}
	for i := range uint32(10) {
		x.entries = append(x.entries, sparseEntry{i, i, i * 4096})
	}
	x.times = []timeEntry{{1, 2, 3}}
	f.Add(s.encodeIndex(x, hash), uint64(500), false)
	f.Add(s.encodeIndex(&sparse{}, hash), uint64(500), true)
	f.Fuzz(func(t *testing.T, b []byte, seq uint64, seal bool) {
		b = bytes.Clone(b)
		if seal && len(b) >= indexHeadBytes {
			s.putIndexHead(b, indexMagic, 1, 1)
			if len(b) >= 2*indexPageBytes {
				binary.LittleEndian.PutUint32(b[indexPageBytes+8:], 0)
				hash.sealBlock(b[indexPageBytes : 2*indexPageBytes])
			}
			hash.sealBlock(b[:min(len(b), indexHeadBytes+sparseBytes)])
		}
		fsys := vfs.NewMem()
		must(t, vfs.WriteFileSync(fsys, "/"+segmentName(1, 0)+extIndex, b))
		s := newSegment(fsys, "/", 0, s.segmentHead)
		l := &Log{opts: Options{Cache: NewCache(1 << 20)}, hash: hash}
		if p, err := l.bySeqOnDisk(s, seq); err == nil && (p.pos < 0 || p.pos > math.MaxUint32) {
			t.Fatalf("%+v", p)
		}
		s.sparseOnDisk(hash)
	})
}

func TestIndexFiles(t *testing.T) {
	hash := newHasher(testKey)
	for _, n := range []int{0, 1, 2, entriesPerPage, entriesPerPage + 1, 5*entriesPerPage - 1, 400 * entriesPerPage} {
		fsys := vfs.NewMem()
		s := newSegment(fsys, "/", 0, segmentHead{generation: 1, serial: 1, base: 100, first: 7})
		x := &sparse{}
		for i := range n {
			h := Head{Base: 100 + uint64(i/3*10), Index: 7 + uint64(i)}
			x.note(&s.segmentHead, &h, segmentHeadBytes+int64(i)*5000, int64(i/2))
		}
		must(t, s.writeIndexFiles(x, hash))
		if !s.hasIndexFiles(hash) {
			t.Fatalf("%d entries: not there", n)
		}
		got, err := s.sparseOnDisk(hash)
		must(t, err)
		if len(got.entries) != len(x.entries) || n > 0 && !reflect.DeepEqual(got.entries, x.entries) ||
			len(got.times) != len(x.times) || n > 0 && !reflect.DeepEqual(got.times, x.times) {
			t.Fatalf("%d entries: read back others", n)
		}
		l := &Log{opts: Options{Cache: NewCache(1 << 20)}, hash: hash}
		for i := range 400 { // the second time from the cache
			seq := uint64(i % 200 * (n + 50) / 25)
			want := x.bySeq(&s.segmentHead, seq)
			if p, err := l.bySeqOnDisk(s, seq); err != nil || p != want {
				t.Fatalf("%d entries, sequence %d: %+v %v, want %+v", n, seq, p, err, want)
			}
		}
		s.size.Add(1) // another life of the segment
		if s.hasIndexFiles(hash) {
			t.Fatal("index of another state of the segment is taken")
		}
	}
}

// TestLostIndexIsMadeAnew removes or damages the index files of sealed segments.
func TestLostIndexIsMadeAnew(t *testing.T) {
	for _, damage := range []func(b []byte) []byte{
		func(b []byte) []byte { return nil },
		func(b []byte) []byte { b[9]++; return b },
		func(b []byte) []byte { b[len(b)-1]++; return b },
		func(b []byte) []byte { return b[:len(b)-1] },
	} {
		o := testOptions(vfs.NewMem())
		messages, _ := closedLog(t, o)
		entries, err := o.FS.ReadDir(o.Dir)
		must(t, err)
		n := 0
		for _, e := range entries {
			path := o.Dir + "/" + e.Name
			if b, _ := vfs.ReadFile(o.FS, path, 1<<30); bytes.HasSuffix([]byte(path), []byte("index")) {
				must(t, vfs.WriteFileSync(o.FS, path, damage(b)))
				n++
			}
		}
		if n < 6 {
			t.Fatalf("%d index files", n)
		}
		l, report, err := Open(o)
		must(t, err)
		if len(report.Damage) > 0 {
			t.Fatalf("%+v", report)
		}
		checkAll(t, l, messages)
		for i := range messages {
			if at := l.SeqAt(messages[i].time); at > messages[i].seq {
				t.Fatalf("sequence at %d is %d", messages[i].time, at)
			}
		}
		for _, s := range *l.segs.Load() {
			if s.sealed.Load() && (!s.hasIndexFiles(l.hash) || s.mu.sparse != nil) {
				t.Fatalf("%s has no index files", s.path)
			}
		}
		must(t, l.Close())
	}
}
