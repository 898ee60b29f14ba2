package segment

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"godwit/stream/vfs"
)

// TestPacked stores compressed batches among others and reads them from memory and from files, after a restart and after
// a power cut.
func TestPacked(t *testing.T) {
	fsys := vfs.NewMem()
	o := testOptions(fsys)
	var all []message
	for round := range 3 {
		w, report := openWriter(t, o)
		if len(report.Damage) > 0 {
			t.Fatalf("%+v", report)
		}
		w.packed, w.time = true, int64(round*1000)
		for i := range 40 {
			must(t, w.append(text(i, 500), text(i, 700), text(i, 1)))
			if i%4 == 0 {
				w.flush(t, true)
			}
		}
		w.flush(t, true)
		all = append(all, w.messages...)
		checkAll(t, w.log, all)
		must(t, w.log.Close())
	}
	o.FS = fsys.CrashClone(rand.New(rand.NewPCG(1, 1)))
	w, _ := openWriter(t, o)
	checkAll(t, w.log, all)
	if plain := int64(len(all) / 3 * 1260); w.log.Bytes() > plain*3/4 {
		t.Errorf("%d bytes for %d of messages", w.log.Bytes(), plain)
	}
	must(t, w.log.Close())
	// Indexes made anew come to the same.
	for _, name := range segmentNames(t, o) {
		stem := strings.TrimSuffix(name, ".log")
		_ = o.FS.Remove(o.Dir + "/" + stem + ".index") // the last has none
		_ = o.FS.Remove(o.Dir + "/" + stem + ".timeindex")
	}
	w, _ = openWriter(t, o)
	checkAll(t, w.log, all)
	for _, i := range []int{0, 7, 100, len(all) - 1} {
		if at := w.log.SeqAt(all[i].time); at > all[i].seq {
			t.Errorf("message %d of time %d is found at %d", all[i].seq, all[i].time, at)
		}
	}
	must(t, w.log.Close())
}

// TestPackedStaysValid: what a cursor returned stays as it was for one more call, also over the end of a batch.
func TestPackedStaysValid(t *testing.T) {
	w, _ := openWriter(t, testOptions(vfs.NewMem()))
	w.packed = true
	for i := range 30 {
		must(t, w.append(text(i, 300), text(i, 301)))
	}
	w.flush(t, true)
	c := w.log.NewCursor(1)
	var before, r Record
	for i := range w.messages {
		_, at, ok, err := c.Next(math.MaxUint64, &r)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if i > 0 {
			must(t, w.messages[i-1].check(w.messages[i-1].time, &before))
		}
		must(t, w.messages[i].check(at, &r))
		before = r
		if i%7 == 0 {
			c.Seek(w.messages[i].seq + 1)
		}
	}
	must(t, w.log.Close())
}

// TestPackedDamage: a body that passes the checksum and is no S2 block is reported, and what lies around it is served.
func TestPackedDamage(t *testing.T) {
	o := testOptions(vfs.NewMem())
	w, _ := openWriter(t, o)
	must(t, w.append(text(1, 300)))
	first := len(w.messages)
	h := Head{Kind: KindMessages, Index: 2, Term: 1, Time: 5, Base: w.next, Count: 1}
	body := AppendRecord(nil, (&message{seq: w.next, time: 5, text: "lost"}).record(5))
	must(t, w.log.append(h, flagPacked, []byte("this is not compressed"), [][]byte{body}))
	w.next, w.index = w.next+1, 2
	must(t, w.append(text(3, 300)))
	w.flush(t, true)
	c := w.log.NewCursor(1)
	var r Record
	var damage *CorruptError
	var got []uint64
	for range 10 {
		seq, _, ok, err := c.Next(math.MaxUint64, &r)
		if errors.As(err, &damage) {
			c.Skip()
			continue
		}
		if err != nil || !ok {
			break
		}
		got = append(got, seq)
	}
	if damage == nil || len(got) != 2 || got[0] != w.messages[first-1].seq || got[1] != w.messages[first].seq {
		t.Errorf("read %v, damage %v", got, damage)
	}
	must(t, w.log.Close())
}

func TestPackedOnlyIfSmaller(t *testing.T) {
	w, _ := openWriter(t, testOptions(vfs.NewMem()))
	rng := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 2000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	h := Head{Kind: KindMessages, Index: 1, Term: 1, Base: 1, Count: 1}
	body := AppendRecord(nil, &Record{Subject: []byte("s"), Value: noise})
	must(t, w.log.AppendPacked(h, body))
	w.flush(t, true)
	if n := w.log.Bytes() - segmentHeadBytes; n != int64(batchHeadBytes+len(body)) { // the options leave the long head to it
		t.Errorf("noise of %d bytes takes %d", len(body), n)
	}
	must(t, w.log.Close())
}
