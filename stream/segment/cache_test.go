package segment

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"godwit/stream/vfs"
)

// A cache that is far too small for what is read stays within its bound and gives back what was written.
func TestCacheStaysWithinItsBound(t *testing.T) {
	cache := NewCache(64 << 10)
	l, _, err := Open(Options{Dir: "/l", FS: vfs.NewMem(), SegmentBytes: 32 << 10, TailBytes: 16 << 10, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	index := uint64(0)
	for seq := uint64(1); seq <= n; {
		var body []byte
		count := uint32(0)
		base := seq
		for ; count < uint32(1+seq%37) && seq <= n; count++ {
			body = AppendRecord(body, &Record{TimeDelta: int64(count), Subject: fmt.Appendf(nil, "s.%d", seq), Value: []byte("value")})
			seq++
		}
		index++
		if err := l.Append(Head{Kind: KindMessages, Index: index, Term: 1, Time: int64(base), Base: base, Count: count}, body); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Flush(true); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var r Record
	for range 20000 {
		seq := 1 + rng.Uint64N(n)
		if rng.IntN(3) > 0 {
			seq = 1 + seq%200 // some are asked for often
		}
		if _, err := l.Read(seq, &r); err != nil || string(r.Subject) != fmt.Sprintf("s.%d", seq) || string(r.Value) != "value" {
			t.Fatalf("%d: %q %q %v", seq, r.Subject, r.Value, err)
		}
	}
	if got := cache.Bytes(); got > 64<<10 || got == 0 {
		t.Errorf("%d bytes are kept", got)
	}
	sum, ring, regions := 0, 0, 0
	for i := range cache.shards {
		s := &cache.shards[i]
		for _, reg := range s.regions {
			sum += reg.bytes
		}
		ring += len(s.ring)
		regions += len(s.regions)
	}
	if int64(sum) != cache.Bytes() || ring < regions {
		t.Errorf("%d bytes in %d regions, %d in the ring; %d are counted", sum, regions, ring, cache.Bytes())
	}
	for i := range *l.segs.Load() {
		cache.forget(l.id, (*l.segs.Load())[i].serial)
	}
	if got := cache.Bytes(); got != 0 {
		t.Errorf("%d bytes are left", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is read at the end of the log is not served in its place once there is more.
func TestReadBehindACachedRegion(t *testing.T) {
	l, _, err := Open(Options{Dir: "/l", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var r Record
	for seq := uint64(1); seq <= 300; seq++ {
		body := AppendRecord(nil, &Record{Value: fmt.Append(nil, seq)})
		if err := l.Append(Head{Kind: KindMessages, Index: seq, Term: 1, Time: 1, Base: seq, Count: 1}, body); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Flush(true); err != nil {
			t.Fatal(err)
		}
		for _, at := range []uint64{1, seq/2 + 1, seq} {
			if _, err := l.Read(at, &r); err != nil || string(r.Value) != fmt.Sprint(at) {
				t.Fatalf("%d of %d: %q %v", at, seq, r.Value, err)
			}
		}
		if _, err := l.Read(seq+1, &r); err != ErrNotFound {
			t.Fatalf("%d: %v", seq+1, err)
		}
	}
}
