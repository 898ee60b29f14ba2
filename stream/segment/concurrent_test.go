package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"godwit/stream/vfs"
)

// TestReadersBesideTheAppender lets cursors, reads, checkpoints and drops run while the owner appends and the tail is
// small, so that readers are pushed between memory and files. It is for the race detector.
func TestReadersBesideTheAppender(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncAlways, SyncInterval, SyncOS} {
		t.Run(policy.String(), func(t *testing.T) {
			o := testOptions(vfs.NewVolatile())
			o.Sync = policy
			o.SegmentBytes, o.TailBytes = 64<<10, 16<<10
			var high, flushed atomic.Uint64
			w, _ := openWriter(t, o)
			const total = 3000
			value := func(seq uint64) string { return text(int(seq), int(seq%300)) }
			errs := make(chan error, 100)
			var readers sync.WaitGroup
			check := func(seq uint64, r *Record) error {
				if string(r.Value) != value(seq) {
					return fmt.Errorf("message %d is %q", seq, r.Value)
				}
				return nil
			}
			for range 3 {
				readers.Go(func() {
					c := w.log.NewCursor(0)
					var r Record
					next := uint64(0)
					for next < total {
						seq, _, ok, err := c.Next(high.Load(), &r)
						if err == nil && ok {
							if seq <= next || seq > next+1 && seq > w.log.FirstBase() { // only what was dropped is left out
								err = fmt.Errorf("message %d after %d", seq, next)
							} else {
								err = check(seq, &r)
							}
							next = seq
						}
						if err != nil {
							errs <- fmt.Errorf("cursor: %w", err)
							return
						}
						if !ok && rand.IntN(100) == 0 {
							c.Release()
						}
					}
				})
			}
			readers.Go(func() {
				var r Record
				for h := high.Load(); h < total; h = high.Load() {
					if h == 0 {
						continue
					}
					seq := rand.Uint64N(h) + 1
					_, err := w.log.Read(seq, &r)
					switch {
					case errors.Is(err, ErrNotFound) && seq < w.log.FirstBase():
					case err != nil:
						errs <- fmt.Errorf("read of %d: %w", seq, err)
						return
					default:
						if err := check(seq, &r); err != nil {
							errs <- err
							return
						}
					}
					if at := w.log.SeqAt(int64(seq)); at > seq && at > w.log.FirstBase() {
						errs <- fmt.Errorf("sequence at %d is %d", seq, at)
						return
					}
				}
			})
			readers.Go(func() {
				for h := high.Load(); h < total; h = high.Load() {
					index := flushed.Load()
					if err := w.log.SaveCheckpoint(index, []byte("state")); err != nil && !errors.Is(err, ErrOutOfOrder) {
						errs <- fmt.Errorf("checkpoint: %w", err)
						return
					}
					if h > 500 {
						if err := w.log.DropBefore(h - 500); err != nil {
							errs <- fmt.Errorf("drop: %w", err)
							return
						}
					}
					w.log.Bytes()
				}
			})
			var body []byte
			for seq := uint64(1); seq <= total; {
				n := min(rand.Uint64N(5)+1, total-seq+1)
				h := Head{Kind: KindMessages, Index: w.log.LastIndex() + 1, Time: int64(seq), Base: seq, Count: uint32(n)}
				body = body[:0]
				for i := range n {
					body = AppendRecord(body, &Record{TimeDelta: int64(i), Subject: []byte("s"), Value: []byte(value(seq + i))})
				}
				must(t, w.log.Append(h, body))
				seq += n
				if _, err := w.log.Flush(rand.IntN(3) == 0); err != nil {
					t.Fatal(err)
				}
				flushed.Store(h.Index)
				high.Store(seq - 1)
				for seq > total/2 && w.log.FirstBase() == 1 {
					runtime.Gosched() // readers are to see segments go
				}
			}
			readers.Wait()
			select {
			case err := <-errs:
				t.Fatal(err)
			default:
			}
			must(t, w.log.Close())
		})
	}
}

// TestSharedScheduler runs many logs on one small scheduler.
func TestSharedScheduler(t *testing.T) {
	s := NewScheduler(2)
	defer s.Close()
	disk := vfs.NewMem()
	var logs sync.WaitGroup
	for i := range 20 {
		logs.Go(func() {
			o := testOptions(disk)
			o.Dir = fmt.Sprintf("/data/p%d", i)
			o.Scheduler = s
			reported := make(chan uint64, 1000)
			o.OnDurable = func(index uint64) { reported <- index }
			l, _, err := Open(o)
			if err != nil {
				t.Error(err)
				return
			}
			w := &writer{log: l, next: 1}
			for k := range 50 {
				if err := w.append(text(k, 500)); err != nil {
					t.Error(err)
				}
				if _, err := l.Flush(k%3 == 0); err != nil {
					t.Error(err)
				}
			}
			for index := uint64(0); index < w.index; {
				next := <-reported
				if next <= index {
					t.Errorf("durable %d after %d", next, index)
				}
				index = next
			}
			if err := compareAll(l, w.messages); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	logs.Wait()
}

// TestBackgroundLeavesWorkers fills the scheduler with slow background work: logs are still written and synced.
func TestBackgroundLeavesWorkers(t *testing.T) {
	s := NewScheduler(4)
	stop := make(chan struct{})
	var background atomic.Int32
	started := make(chan struct{}, 10)
	for range 10 {
		s.submit(func() {
			background.Add(1)
			started <- struct{}{}
			<-stop
		})
	}
	<-started
	<-started
	o := testOptions(vfs.NewMem())
	o.Scheduler, o.OnDurable = s, func(uint64) { started <- struct{}{} }
	w, _ := openWriter(t, o)
	for i := range 10 {
		must(t, w.append(text(i, 100)))
		w.log.active.zero.off = true // that would be background work
		w.flush(t, false)
		<-started
	}
	if n := background.Load(); n != 2 {
		t.Fatalf("%d background tasks at once", n)
	}
	close(stop)
	must(t, w.log.Close())
	s.Close()
	if n := background.Load(); n != 10 {
		t.Fatalf("%d background tasks", n)
	}
}
