package segment

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"godwit/stream/vfs"
)

// checkTails compares what the budget counts with what the logs hold.
func checkTails(t *testing.T, tails *Tails, logs ...*Log) {
	t.Helper()
	var want int64
	for _, l := range logs {
		for _, b := range l.tail.Load().blocks {
			want += int64(len(b.bytes))
		}
	}
	tails.mu.Lock()
	defer tails.mu.Unlock()
	var listed int64
	for b := tails.mu.first; b != nil; b = b.after {
		listed += int64(len(b.bytes))
	}
	if got := tails.Bytes(); got != want || listed != want {
		t.Fatalf("%d bytes are counted, %d listed, the logs hold %d", got, listed, want)
	}
}

// TestTailsAreSharedByAllLogs lets one log take all of the budget, then another, and reads both.
func TestTailsAreSharedByAllLogs(t *testing.T) {
	tails := NewTails(256 << 10)
	defer tails.Close()
	disk := vfs.NewMem()
	var writers []*writer
	var logs []*Log
	for i := range 3 {
		o := testOptions(disk)
		o.Dir, o.SegmentBytes, o.Tails, o.TailBytes = fmt.Sprintf("/data/p%d", i), 1<<20, tails, 0
		w, _ := openWriter(t, o)
		writers, logs = append(writers, w), append(logs, w.log)
	}
	held := func(l *Log) (n int64) {
		for _, b := range l.tail.Load().blocks {
			n += int64(len(b.bytes))
		}
		return n
	}
	for round := range 2 {
		for i, w := range writers {
			for k := range 200 {
				must(t, w.append(text(k, 3000)))
				w.flush(t, true)
				must(t, w.log.syncTo(w.index)) // blocks go once they are written
			}
			if got := held(w.log); got < 128<<10 {
				t.Errorf("round %d: log %d holds %d bytes only", round, i, got)
			}
			if got := tails.Bytes(); got > tails.Max() {
				t.Errorf("%d bytes are held, the bound is %d", got, tails.Max())
			}
			checkTails(t, tails, logs...)
		}
	}
	for _, w := range writers {
		checkAll(t, w.log, w.messages)
		must(t, w.log.Close())
	}
	if got := tails.Bytes(); got != 0 {
		t.Errorf("%d bytes are counted after all logs were closed", got)
	}
}

// TestTailsKeepWhatIsNotWritten passes the bound rather than lose something.
func TestTailsKeepWhatIsNotWritten(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.SegmentBytes, o.Tails = 1<<20, NewTails(1)
	defer o.Tails.Close()
	w, _ := openWriter(t, o)
	for k := range 50 {
		must(t, w.append(text(k, 3000)))
	}
	checkTails(t, o.Tails, w.log)
	if got := o.Tails.Bytes(); got < 150<<10 {
		t.Fatalf("%d bytes are held, 150,000 wait to be written", got)
	}
	w.flush(t, true)
	must(t, w.append("last"))
	w.flush(t, true)
	checkAll(t, w.log, w.messages)
	must(t, w.log.Close())
}

// TestIdleLogsHoldNothing is about time: a log that rests gives its blocks back, one that works does not.
func TestIdleLogsHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tails := NewTails(1 << 20)
		disk := vfs.NewMem()
		open := func(dir string) *writer {
			o := testOptions(disk)
			o.Dir, o.Tails = dir, tails
			o.Scheduler = NewScheduler(2)
			t.Cleanup(o.Scheduler.Close)
			w, _ := openWriter(t, o)
			return w
		}
		busy, idle := open("/data/busy"), open("/data/idle")
		must(t, idle.append(text(1, 5000)))
		idle.flush(t, true)
		c := idle.log.NewCursor(1)
		var r Record
		if _, _, ok, err := c.Next(1, &r); !ok || err != nil {
			t.Fatal(ok, err)
		}
		before := string(r.Value)
		for range 25 {
			must(t, busy.append(text(1, 10)))
			busy.flush(t, true)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if n := len(idle.log.tail.Load().blocks); n != 0 {
			t.Errorf("the idle log holds %d blocks", n)
		}
		if idle.log.active.writer() != nil {
			t.Error("the file of the idle log is open")
		}
		if n := len(busy.log.tail.Load().blocks); n == 0 {
			t.Error("the busy log holds nothing")
		}
		if string(r.Value) != before {
			t.Error("what was read has changed")
		}
		// It goes on as if nothing had been.
		must(t, idle.append(text(2, 50)))
		idle.flush(t, true)
		if seq, _, ok, err := c.Next(math.MaxUint64, &r); !ok || err != nil || seq != 2 {
			t.Fatal(seq, ok, err)
		}
		checkAll(t, idle.log, idle.messages)
		checkTails(t, tails, busy.log, idle.log)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := tails.Bytes(); got != 0 {
			t.Errorf("%d bytes are held by logs that rest", got)
		}
		tails.mu.Lock()
		if tails.mu.timed {
			t.Error("the timer runs though there is nothing to do")
		}
		tails.mu.Unlock()
		must(t, busy.log.Close())
		must(t, idle.log.Close())
		tails.Close()
	})
}
