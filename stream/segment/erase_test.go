package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"godwit/stream/vfs"
)

// wipe is how the tests overwrite a message.
func wipe(r *Record) { clear(r.Value) }

// secretive returns a log whose messages have contents of their own, compressed ones among them, some of them in tail blocks
// only.
func secretive(t *testing.T, fsys vfs.FS) (*writer, Options) {
	t.Helper()
	o := testOptions(fsys)
	o.Pace = NewPace(1 << 40)
	w, _ := openWriter(t, o)
	w.next, w.packed = 1, true
	for i := range 80 {
		must(t, w.append(secret(3*i), secret(3*i+1), secret(3*i+2)))
		if i%7 == 0 {
			must(t, w.command(text(i, 100)))
		}
		w.flush(t, true)
	}
	must(t, w.log.SaveCheckpoint(w.index, []byte("state")))
	for i := 80; i < 100; i++ {
		must(t, w.append(secret(3*i), secret(3*i+1), secret(3*i+2)))
		w.flush(t, true)
	}
	return w, o
}

// secret returns a text that there is once, half of it compressible.
func secret(i int) string {
	rng := rand.New(rand.NewPCG(uint64(i), 9))
	b := []byte(fmt.Sprintf("secret %d ", i))
	for range 80 {
		b = append(b, byte(' '+rng.IntN(90)))
	}
	return string(append(b, bytes.Repeat(b[:20], 4)...))
}

// holds says in which file of a directory a text is.
func holds(t *testing.T, fsys vfs.FS, dir, text string) string {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		b, err := vfs.ReadFile(fsys, dir+"/"+e.Name, 1<<30)
		must(t, err)
		if bytes.Contains(b, []byte(text)) {
			return e.Name
		}
	}
	return ""
}

// erase wipes messages and takes note of it.
func (w *writer) erase(seqs ...uint64) (left []uint64, err error) {
	for _, seq := range seqs {
		w.log.EraseRecent(seq, wipe)
	}
	left, err = w.log.Erase(w.index, seqs, wipe)
	if err == nil {
		for i := range w.messages {
			if m := &w.messages[i]; slices.Contains(seqs, m.seq) && !slices.Contains(left, m.seq) {
				m.erased = true
			}
		}
	}
	return left, err
}

// TestEraseEverywhere: messages in sealed segments, in the one being written, in compressed batches and in memory are
// overwritten; nothing else changes, and nothing of them is left in any file.
func TestEraseEverywhere(t *testing.T) {
	fsys := vfs.NewMem()
	w, o := secretive(t, fsys)
	checkAll(t, w.log, w.messages) // fills the cache
	seqs := []uint64{1, 2, 50, 51, 52, 53, 60, 170, 171, 245, 280, 299, 300}
	for _, seq := range seqs[:5] {
		left, err := w.erase(seq)
		if len(left) > 0 || err != nil {
			t.Fatal(left, err)
		}
	}
	left, err := w.erase(append(seqs, 1000, 53)...) // again, with one that there is not, and one twice
	if len(left) > 0 || err != nil {
		t.Fatal(left, err)
	}
	checkAll(t, w.log, w.messages)
	must(t, w.append("more"))
	w.flush(t, true)
	checkAll(t, w.log, w.messages)
	for _, seq := range seqs {
		if name := holds(t, fsys, o.Dir, w.messages[seq-1].text[:40]); name != "" {
			t.Errorf("message %d is still in %s", seq, name)
		}
	}
	for _, b := range w.log.tail.Load().blocks {
		if bytes.Contains(b.bytes, []byte(w.messages[298].text[:40])) {
			t.Error("a tail block still has it")
		}
	}
	w.log.waitForTasks() // that make index files
	v, err := w.log.Verify(fsys, func(int64) {})
	if err != nil || len(v.Faults) > 0 {
		t.Fatalf("%+v %v", v, err)
	}
	must(t, w.log.Close())
	l, report, err := Open(o)
	must(t, err)
	if len(report.Damage) > 0 || report.Cut > 0 {
		t.Fatalf("%+v", report)
	}
	checkAll(t, l, w.messages)
	must(t, l.Close())
}

// TestEraseThenRewrite: a compressed batch that was overwritten is rewritten like any other, and the other way round.
func TestEraseThenRewrite(t *testing.T) {
	fsys := vfs.NewMem()
	w, _ := secretive(t, fsys)
	if left, err := w.erase(7, 8, 16, 25); len(left) > 0 || err != nil {
		t.Fatal(left, err)
	}
	dead := func(seq uint64) bool { return seq%4 != 0 && seq < 240 }
	for _, n := range w.log.Inner(w.index - 20) {
		if _, err := w.log.Rewrite(Rewriting{Serial: n.Serial, Index: w.index - 20, Dead: dead, Hole: 1}, nil); err != nil && !errors.Is(err, ErrNotWorth) {
			t.Fatal(err)
		}
	}
	if left, err := w.erase(32, 40, 9); len(left) > 0 || err != nil { // 9 is gone
		t.Fatal(left, err)
	}
	must(t, compareLive(w.log, w.messages, dead))
	if name := holds(t, fsys, testOptions(nil).Dir, w.messages[31].text[:40]); name != "" {
		t.Errorf("a message is still in %s", name)
	}
	must(t, w.log.Close())
}

// TestEraseDoesNotFit: a message whose content others of its compressed batch refer to stays where it is if the batch would
// become longer, and goes when the segment is rewritten.
func TestEraseDoesNotFit(t *testing.T) {
	fsys := vfs.NewMem()
	w, o := secretive(t, fsys)
	same := secret(5000)[:88]
	w.index++
	h := Head{Kind: KindMessages, Index: w.index, Term: 1, Time: w.time, Base: w.next, Count: 2}
	var body []byte
	for range 2 {
		m := message{w.next, w.index, w.time, same, false}
		w.messages = append(w.messages, m)
		body = AppendRecord(body, m.record(w.time))
		w.next++
	}
	must(t, w.log.AppendPacked(h, body))
	w.flush(t, true)
	seq := w.next - 2
	left, err := w.erase(seq)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) == 0 {
		t.Skip("it did fit")
	}
	checkAll(t, w.log, w.messages)
	w.log.Seal(w.time)
	must(t, w.append("in the next segment"))
	w.flush(t, true)
	must(t, w.log.SaveCheckpoint(w.index, []byte("state")))
	dead := func(s uint64) bool { return s == seq }
	inner := w.log.Inner(w.index)
	if _, err := w.log.Rewrite(Rewriting{inner[len(inner)-1].Serial, w.index, dead, 1, true}, nil); err != nil {
		t.Fatal(err)
	}
	must(t, compareLive(w.log, w.messages, dead))
	must(t, w.log.Close())
	l, report, err := Open(o)
	must(t, err)
	if len(report.Damage) > 0 {
		t.Fatalf("%+v", report)
	}
	must(t, compareLive(l, w.messages, dead))
	var r Record
	if _, err := l.Read(seq, &r); err == nil && len(r.Value) > 0 {
		t.Errorf("message %d is still there: %q", seq, r.Value)
	}
	must(t, l.Close())
}

// TestPowerCutWhileErasing cuts the power before every write, sync, rename and removal while messages are erased: whatever is
// left opens without damage and holds all others; those are there or erased, and erased once it was said.
func TestPowerCutWhileErasing(t *testing.T) {
	disk := vfs.NewMem()
	var mu sync.Mutex
	type cut struct {
		fsys *vfs.Mem
		done int // erasures that had been reported
	}
	var cuts []cut
	var on atomic.Bool
	var done atomic.Int32
	w, o := secretive(t, vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
		if on.Load() && op.Kind != vfs.OpRead && op.Kind != vfs.OpStat && op.Kind != vfs.OpReadDir {
			mu.Lock()
			defer mu.Unlock()
			for range 4 {
				cuts = append(cuts, cut{disk.CrashClone(rand.New(rand.NewPCG(uint64(len(cuts)), 4))), int(done.Load())})
			}
		}
		return nil
	}))
	rounds := [][]uint64{{51}, {52, 53, 170}, {299, 1, 54, 245}, {300}, {2, 3, 4, 5, 6, 7, 8, 9}}
	on.Store(true)
	var steps [][]message
	for _, seqs := range rounds {
		steps = append(steps, slices.Clone(w.messages))
		must(t, w.append("beside it"))
		w.flush(t, false)
		if left, err := w.erase(seqs...); len(left) > 0 || err != nil {
			t.Fatal(left, err)
		}
		done.Add(1)
	}
	steps = append(steps, slices.Clone(w.messages))
	must(t, w.log.Close())
	on.Store(false)
	for i, c := range cuts {
		over := vfs.NewOverlay(c.fsys)
		p := o
		p.FS = over
		l, report, err := Open(p)
		must(t, err)
		v, err := l.Verify(c.fsys, func(int64) {})
		if err != nil || len(v.Faults)+len(report.Damage) > 0 {
			t.Fatalf("cut %d: %+v %+v %v", i, report, v, err)
		}
		must(t, l.Close())
		over.Close()
		p.FS = c.fsys
		l, report, err = Open(p)
		must(t, err)
		if len(report.Damage) > 0 {
			t.Fatalf("cut %d: %+v", i, report)
		}
		// It is as before the round, or as after it.
		var errs []error
		for _, want := range steps[c.done:min(c.done+2, len(steps))] {
			all := append(slices.Clone(want), w.messages[len(want):]...)
			errs = append(errs, compareAll(l, all[:l.NextSeq()-1]))
		}
		if !slices.Contains(errs, nil) {
			t.Fatalf("cut %d after %d rounds: %v", i, c.done, errs)
		}
		must(t, l.Close())
	}
	t.Logf("%d cuts", len(cuts))
}

// TestEraseBesideReaders: readers that come by while messages are overwritten find each whole, as it was or erased.
func TestEraseBesideReaders(t *testing.T) {
	w, o := secretive(t, vfs.NewMem())
	messages := slices.Clone(w.messages)
	var done atomic.Bool
	var wg sync.WaitGroup
	for n := range 3 {
		wg.Go(func() {
			for !done.Load() {
				c := w.log.NewCursor(0)
				var r Record
				for i := range messages {
					var err error
					var time int64
					seq, ok := messages[i].seq, true
					if n == 0 {
						time, err = w.log.Read(seq, &r)
					} else if seq, time, ok, err = c.Next(messages[len(messages)-1].seq, &r); i%50 == 7 {
						c.Release()
					}
					m := messages[i]
					m.erased = len(r.Value) > 0 && r.Value[0] == 0
					if err == nil && ok && seq == m.seq {
						err = m.check(time, &r)
					} else if err == nil {
						err = fmt.Errorf("got %d %v instead of %d", seq, ok, m.seq)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for seq := uint64(1); seq <= 300; seq += 3 {
		if _, err := w.erase(seq, seq+1); err != nil {
			t.Error(err)
		}
		if seq%30 == 1 {
			must(t, w.append("more"))
			w.flush(t, true)
		}
	}
	done.Store(true)
	wg.Wait()
	must(t, w.log.Close())
	l, report, err := Open(o)
	must(t, err)
	if len(report.Damage) > 0 {
		t.Fatalf("%+v", report)
	}
	checkAll(t, l, w.messages)
	must(t, l.Close())
}

// TestEraseFails: what cannot be written is not begun, or makes the log fail and is finished by the next start.
func TestEraseFails(t *testing.T) {
	for _, late := range []bool{false, true} {
		disk := vfs.NewMem()
		var on atomic.Bool
		w, o := secretive(t, vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
			journal := holdsErasures(op.Path)
			if on.Load() && op.Kind == vfs.OpWrite && journal != late {
				return &vfs.Fault{Err: errPower}
			}
			return nil
		}))
		on.Store(true)
		_, err := w.log.Erase(w.index, []uint64{51}, wipe)
		if !errors.Is(err, errPower) || errors.Is(err, ErrFailed) != late {
			t.Fatalf("late %v: %v", late, err)
		}
		on.Store(false)
		if err := w.log.Close(); errors.Is(err, ErrFailed) != late {
			t.Fatalf("late %v: close: %v", late, err)
		}
		o.FS = disk
		l, report, err := Open(o)
		must(t, err)
		if len(report.Damage) > 0 {
			t.Fatalf("%+v", report)
		}
		w.messages[50].erased = late
		checkAll(t, l, w.messages)
		must(t, l.Close())
	}
}

func holdsErasures(path string) bool {
	return strings.HasPrefix(filepath.Base(path), erasuresName)
}

func FuzzErasures(f *testing.F) {
	hash := newHasher(testKey)
	f.Add(encodeErasures([]erasure{{serial: 1, base: 1, pos: 200, batch: []byte("batch")}, {end: 5, pos: 128}}, hash)[8:])
	f.Add([]byte(erasuresMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := append(make([]byte, 8), b...)
		hash.sealBlock(whole)
		list, ok, err := decodeErasures(whole, hash)
		if !ok || err != nil {
			return
		}
		again, ok, err := decodeErasures(encodeErasures(list, hash), hash)
		if !ok || err != nil || len(again) != len(list) {
			t.Fatalf("%v %v %v", again, ok, err)
		}
		for i := range list {
			if !bytes.Equal(list[i].batch, again[i].batch) || list[i].pos != again[i].pos || list[i].serial != again[i].serial {
				t.Fatalf("%+v is not %+v", again[i], list[i])
			}
		}
	})
}

// TestErasuresAreDamaged: a list of erasures that does not verify is reported, by a check too, and left alone; all else is
// as it was.
func TestErasuresAreDamaged(t *testing.T) {
	disk := vfs.NewMem()
	w, o := secretive(t, disk)
	must(t, w.log.Close())
	path := o.Dir + "/" + erasuresName
	b := encodeErasures([]erasure{{serial: 1, base: 1, generation: 1, pos: 128, batch: []byte("not what is there")}}, newHasher(o.Key))
	b[60] ^= 1
	must(t, vfs.WriteFileSync(disk, path, b))
	l, report, err := Open(o)
	must(t, err)
	if len(report.Damage) != 1 || report.Damage[0].Path != path {
		t.Fatalf("%+v", report.Damage)
	}
	v, err := l.Verify(disk, func(int64) {})
	if err != nil || len(v.Faults) != 1 || v.Faults[0].Path != path {
		t.Fatalf("%+v %v", v, err)
	}
	checkAll(t, l, w.messages)
	must(t, l.Close())
	if _, err := disk.Stat(path); err != nil {
		t.Error(err)
	}
}
