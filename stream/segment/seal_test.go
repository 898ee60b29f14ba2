package segment

import (
	"math/rand/v2"
	"testing"

	"godwit/stream/vfs"
)

// TestSealedLogGivesBackEverything drops all of a log, and lets it go on after a restart and after a power cut.
func TestSealedLogGivesBackEverything(t *testing.T) {
	disk := vfs.NewMem()
	o := testOptions(disk)
	o.SegmentBytes = 1 << 20
	w, _ := openWriter(t, o)
	w.log.Seal(1) // nothing to seal
	for i := range 20 {
		must(t, w.append(text(i, 3000)))
		w.flush(t, true)
	}
	if got, n := w.log.Active(); got < 60000 || n != 1 {
		t.Fatalf("the active segment of %d has %d bytes", n, got)
	}
	w.log.Seal(w.time)
	w.log.Seal(w.time) // an empty one stays
	must(t, w.log.SaveCheckpoint(w.index, []byte("state")))
	must(t, w.log.DropBefore(w.next))
	if got := w.log.Bytes(); got > segmentHeadBytes {
		t.Errorf("%d bytes are left", got)
	}
	check := func(o Options, want []message) *writer {
		t.Helper()
		restored := ""
		o.Restore = func(_ uint64, b []byte) error { restored = string(b); return nil }
		again, report := openWriter(t, o)
		if len(report.Damage) > 0 || restored != "state" || again.next != w.next || again.index != w.index {
			t.Fatalf("%+v, restored %q, goes on at %d and %d, not %d and %d", report, restored, again.next, again.index, w.next, w.index)
		}
		checkAll(t, again.log, want)
		again.time = w.time
		must(t, again.append("after"))
		again.flush(t, true)
		checkAll(t, again.log, append(want[:len(want):len(want)], again.messages...))
		return again
	}
	for seed := range uint64(10) {
		co := testOptions(disk.CrashClone(rand.New(rand.NewPCG(seed, 1))))
		must(t, check(co, nil).log.Close())
	}
	must(t, w.log.Close())
	again := check(o, nil)
	// The active one goes in the middle of something.
	again.log.Seal(again.time)
	must(t, again.append("behind"))
	again.flush(t, false)
	must(t, again.log.Close())
	last, _ := openWriter(t, o)
	checkAll(t, last.log, again.messages)
	must(t, last.log.Close())
}
