package segment

import (
	"fmt"
	"testing"
	"time"

	"godwit/stream/vfs"
)

// benchOptions is a log on the disk of the temporary directory.
func benchOptions(b *testing.B, policy SyncPolicy) Options {
	return Options{Dir: b.TempDir() + "/p", FS: vfs.OS(), Key: testKey, Sync: policy}
}

func benchBody(n int) []byte {
	var body []byte
	value := make([]byte, 128)
	for range n {
		body = AppendRecord(body, &Record{Subject: []byte("orders.new"), Value: value})
	}
	return body
}

// fill appends n messages of 128 bytes in batches of 100.
func fill(b *testing.B, l *Log, n int) {
	b.Helper()
	body := benchBody(100)
	for i := range n / 100 {
		h := Head{Kind: KindMessages, Index: l.LastIndex() + 1, Base: l.NextSeq(), Count: 100, Time: int64(i)}
		must(b, l.Append(h, body))
		if i%10 == 0 {
			if _, err := l.Flush(false); err != nil {
				b.Fatal(err)
			}
		}
	}
	if _, err := l.Flush(false); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, policy := range []SyncPolicy{SyncOS, SyncAlways} {
		for _, n := range []int{1, 100} {
			b.Run(fmt.Sprintf("%v/batch=%d", policy, n), func(b *testing.B) {
				l, _, err := Open(benchOptions(b, policy))
				must(b, err)
				body := benchBody(n)
				h := Head{Kind: KindMessages, Base: 1, Count: uint32(n)}
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					h.Index++
					if err := l.Append(h, body); err != nil {
						b.Fatal(err)
					}
					h.Base += uint64(n)
					if h.Index%16 == 0 { // as after a turn that had other work too
						if _, err := l.Flush(false); err != nil {
							b.Fatal(err)
						}
					}
				}
				must(b, l.Close())
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/msg")
			})
		}
	}
}

// BenchmarkAppendAlone is the latency of one small batch at a time, synced inline.
func BenchmarkAppendAlone(b *testing.B) {
	l, _, err := Open(benchOptions(b, SyncAlways))
	must(b, err)
	body := benchBody(1)
	h := Head{Kind: KindMessages, Base: 1, Count: 1}
	done := make(chan struct{}, 1)
	l.opts.OnDurable = func(uint64) { done <- struct{}{} }
	for b.Loop() {
		h.Index++
		must(b, l.Append(h, body))
		h.Base++
		if _, err := l.Flush(true); err != nil {
			b.Fatal(err)
		}
		<-done
	}
	must(b, l.Close())
}

func BenchmarkReadTail(b *testing.B) {
	o := benchOptions(b, SyncOS)
	o.TailBytes = 64 << 20
	l, _, err := Open(o)
	must(b, err)
	fill(b, l, 200000)
	benchRead(b, l)
}

func BenchmarkReadCold(b *testing.B) {
	o := benchOptions(b, SyncOS)
	l, _, err := Open(o)
	must(b, err)
	fill(b, l, 200000)
	must(b, l.Close())
	l, _, err = Open(o)
	must(b, err)
	benchRead(b, l)
}

// benchRead reads the log again and again; an operation is one message.
func benchRead(b *testing.B, l *Log) {
	var r Record
	high := l.NextSeq() - 1
	c := l.NewCursor(1)
	b.ReportAllocs()
	b.SetBytes(128)
	for b.Loop() {
		_, _, ok, err := c.Next(high, &r)
		if err != nil {
			b.Fatal(err)
		}
		if !ok {
			c.Seek(1)
		}
	}
	must(b, l.Close())
}

// BenchmarkReadOne reads single messages by sequence, from files.
func BenchmarkReadOne(b *testing.B) {
	o := benchOptions(b, SyncOS)
	o.SegmentBytes = 8 << 20
	l, _, err := Open(o)
	must(b, err)
	fill(b, l, 200000)
	must(b, l.Close())
	l, _, err = Open(o)
	must(b, err)
	var r Record
	high, seq := l.NextSeq()-1, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		seq = (seq + 7919) % high
		if _, err := l.Read(seq+1, &r); err != nil {
			b.Fatal(err)
		}
	}
	must(b, l.Close())
}

// BenchmarkRecover opens a log of 1,000,000 messages without and with a checkpoint of nearly all; page cache warm.
func BenchmarkRecover(b *testing.B) {
	for _, checkpoint := range []bool{false, true} {
		b.Run(fmt.Sprintf("checkpoint=%v", checkpoint), func(b *testing.B) {
			o := benchOptions(b, SyncOS)
			l, _, err := Open(o)
			must(b, err)
			fill(b, l, 1000000)
			if checkpoint {
				must(b, l.SaveCheckpoint(l.LastIndex()-100, nil))
			}
			size := l.Bytes()
			must(b, l.Close())
			messages := 0
			o.Replay = func(h Head, body []byte) error { messages += int(h.Count); return nil }
			b.ReportAllocs()
			b.SetBytes(size)
			var open time.Duration
			for b.Loop() {
				start := time.Now()
				l, report, err := Open(o)
				open += time.Since(start)
				must(b, err)
				if report.Replayed != 10000 && !checkpoint || report.Replayed != 100 && checkpoint {
					b.Fatalf("%+v", report)
				}
				must(b, l.Close())
			}
			b.ReportMetric(float64(open.Microseconds())/1000/float64(b.N), "ms/open")
		})
	}
}

// BenchmarkManyLogs is a round of one 4 KiB batch in each of many logs, until all are durable: with syncs of single
// files, and with syncs of the file system as a whole, which only pay where nobody else writes to it.
func BenchmarkManyLogs(b *testing.B) {
	for _, n := range []int{8, 50, 200} {
		for _, together := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/together=%v", n, together), func(b *testing.B) {
				dir := b.TempDir()
				sched := NewScheduler(0)
				if together {
					v, err := vfs.OpenVolume(dir)
					if err != nil {
						b.Skip(err)
					}
					defer v.Close()
					sched.SyncTogether(v)
				}
				defer sched.Close()
				body := benchBody(30)
				h := Head{Kind: KindMessages, Base: 1, Count: 30}
				done := make(chan struct{}, n)
				logs := make([]*Log, n)
				for i := range logs {
					o := benchOptions(b, SyncAlways)
					o.Dir, o.Scheduler = fmt.Sprintf("%s/%d", dir, i), sched
					o.OnDurable = func(uint64) { done <- struct{}{} }
					l, _, err := Open(o)
					must(b, err)
					logs[i] = l
				}
				for b.Loop() {
					h.Index++
					for _, l := range logs {
						must(b, l.Append(h, body))
						if _, err := l.Flush(false); err != nil {
							b.Fatal(err)
						}
					}
					h.Base += 30
					for range logs {
						<-done
					}
				}
				for _, l := range logs {
					must(b, l.Close())
				}
			})
		}
	}
}
