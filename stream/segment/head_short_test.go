package segment

import (
	"bytes"
	"encoding/binary"
	"math"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"godwit/stream/vfs"
)

// What is put is what is got, whatever the numbers are, and the length was foretold.
func TestShortHeads(t *testing.T) {
	hash := newHasher(testKey)
	numbers := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 1000), rapid.SampledFrom([]uint64{1, 2, 255, 256, 1<<15 - 1, 1 << 56, math.MaxUint64}))
	rapid.Check(t, func(t *rapid.T) {
		h := batchHead{Head: Head{
			Kind:  Kind(rapid.IntRange(1, 3).Draw(t, "kind")),
			Attrs: rapid.OneOf(rapid.Just(uint8(0)), rapid.Byte()).Draw(t, "attrs"),
			Index: max(numbers.Draw(t, "index"), 1),
			Term:  rapid.OneOf(rapid.Just(uint64(1)), numbers).Draw(t, "term"),
			Time:  rapid.Int64().Draw(t, "time"),
			Base:  numbers.Draw(t, "base"),
		}}
		if h.Kind == KindMessages {
			h.Count = rapid.Uint32Range(1, 700).Draw(t, "count")
			if h.next() < h.Base {
				h.Base = 1
			}
		}
		h.durable = min(numbers.Draw(t, "durable"), h.Index-1)
		body := bytes.Repeat([]byte{7}, rapid.IntRange(0, 1000).Draw(t, "body"))
		if h.Kind == KindMessages && len(body) > 0 && rapid.Bool().Draw(t, "packed") {
			h.flags = flagPacked
		}
		h.measure(len(body), shortMost)
		b := append(make([]byte, h.size), body...)
		h.put(b)
		hash.seal(b)
		var got batchHead
		state, n, reason := hash.checkBatch(append(bytes.Clone(b), 1, 2, 3), &got)
		if state != batchGood || n != len(b) || got != h || !h.short {
			t.Fatalf("%+v came back as %+v: %d %d %s", h, got, state, n, reason)
		}
	})
}

// One message at a time takes no more of the disk than it must.
func TestHeadOfOneMessageIsSmall(t *testing.T) {
	h := batchHead{Head: Head{Kind: KindMessages, Index: 1_000_000, Term: 1, Time: 1.8e18, Base: 1_000_020, Count: 1}, durable: 999_999}
	if h.measure(150, shortMost); h.size > 24 {
		t.Fatalf("%d bytes", h.size)
	}
}

// Every bit of a small batch matters, and none makes a wrong batch of it.
func TestBitsOfShortBatches(t *testing.T) {
	hash := newHasher(testKey)
	body := AppendRecord(nil, &Record{Subject: []byte("s"), Value: []byte("value")})
	for _, h := range []batchHead{
		{Head: Head{Kind: KindMessages, Index: 70_000, Term: 1, Time: 1.8e18, Base: 90_000, Count: 1}, durable: 69_999},
		{Head: Head{Kind: KindMessages, Attrs: 3, Index: 70_000, Term: 9, Time: 1.8e18, Base: 90_000, Count: 1}, durable: 3},
	} {
		b := sealedBatch(hash, h, body)
		for bit := range len(b) * 8 {
			b[bit/8] ^= 1 << (bit % 8)
			var got batchHead
			long := append(bytes.Clone(b), make([]byte, shortMost)...)
			if state, _, _ := hash.checkBatch(long, &got); state != batchBad {
				t.Fatalf("bit %d: state %d, %+v", bit, state, got)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// longFormat makes segment files that hold long heads only look as if a build wrote them that knew no others.
func longFormat(t *testing.T, o Options) {
	hash := newHasher(o.Key)
	for _, name := range segmentNames(t, o) {
		change(t, o.FS, filepath.Join(o.Dir, name), func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[16:], 1)
			hash.sealBlock(b[:segmentHeadBytes])
			return b
		})
	}
}

// A segment of an earlier format is read, and closed: builds that take its short heads for damage would open it.
func TestEarlierFormatTakesNoShortHeads(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.shortMost = -1
	messages, want := closedLog(t, o)
	longFormat(t, o)
	o.shortMost = 0
	var state digest
	o.Restore = state.decode
	o.Replay = func(h Head, body []byte) error { state.add(&h, body); return nil }
	w, report := openWriter(t, o)
	if len(report.Damage) > 0 || report.Cut > 0 || state != want {
		t.Fatalf("%+v", report)
	}
	w.messages = messages
	before := len(segmentNames(t, o))
	must(t, w.append("small"))
	w.flush(t, true)
	if after := len(segmentNames(t, o)); after != before+1 {
		t.Fatalf("%d segments, then %d", before, after)
	}
	checkAll(t, w.log, w.messages)
	must(t, w.log.Close())
	o.Restore, o.Replay = nil, nil
	w, report = openWriter(t, o)
	if len(report.Damage) > 0 || report.Cut > 0 {
		t.Fatalf("%+v", report)
	}
	must(t, w.log.Close())
}

// A durable batch that is damaged is not taken for a torn tail, although not every batch says what is durable.
func TestDamageBeforeLazyBatches(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.Sync, o.shortMost = SyncOS, shortMost
	w, _ := openWriter(t, o)
	for i := range 10 {
		must(t, w.append(text(i, 50)))
	}
	w.flush(t, true)
	must(t, w.log.syncTo(w.index))
	for i := range 10 * durableEvery {
		must(t, w.append(text(i, 50)))
		w.flush(t, false)
		if i%durableEvery != 3 {
			continue
		}
		c := o
		c.FS = copyFS(t, o.FS) // as if the process were killed
		path := filepath.Join(c.Dir, segmentNames(t, c)[0])
		change(t, c.FS, path, func(b []byte) []byte { b[segmentHeadBytes+200] ^= 1; return b })
		v, report := openWriter(t, c)
		if report.Cut > 0 || len(report.Damage) == 0 {
			t.Fatalf("after %d: %+v", i, report)
		}
		must(t, v.log.Close())
	}
	must(t, w.log.Close())
}
