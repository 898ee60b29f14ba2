package stream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// TestPowerCutWhilePublishing cuts the power while several clients publish and one acknowledges deliveries: what was
// answered before is there, in order, once, and stays acknowledged.
func TestPowerCutWhilePublishing(t *testing.T) {
	const clients = 3
	for round := range uint64(6) {
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, func(o *Options) { o.SegmentBytes = 16 << 10 })
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		var acked [clients]atomic.Int64 // messages answered
		var confirmed atomic.Uint64
		var stop atomic.Bool
		var wg sync.WaitGroup
		for c := range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				reply := fmt.Sprintf("r.%d", c)
				in := b.out.listen(reply)
				for n := 0; !stop.Load(); n++ {
					batch := b.p.NewBatch()
					batch.Add(fmt.Appendf(nil, "s.%d", c), []byte(reply), nil, fmt.Append(nil, n))
					b.p.Publish(batch, true)
					if m := <-in; strings.Contains(string(m.Payload), "error") {
						return
					}
					acked[c].Store(int64(n + 1))
				}
			}()
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !stop.Load() {
				seqs, replies := b.pull("C", 5)
				if len(seqs) > 0 {
					b.ackSync("C", replies...)
					confirmed.Store(seqs[len(seqs)-1])
				}
			}
		}()
		for acked[0].Load() < 20+int64(round)*30 || confirmed.Load() == 0 {
			time.Sleep(time.Millisecond) // the others are at work; what is waited for is their count
		}
		var before [clients]int64
		for c := range clients {
			before[c] = acked[c].Load()
		}
		floor := confirmed.Load()
		fs := b.fs.CrashClone(rand.New(rand.NewPCG(round, 3)))
		stop.Store(true)
		wg.Wait()
		b.close()

		b = b.reopen(fs)
		var next [clients]int64
		st := b.state()
		for seq := st.FirstSeq; seq <= st.LastSeq; seq++ {
			m, ok := b.get(jsapi.MsgGetRequest{Seq: seq})
			if !ok {
				t.Fatalf("round %d: message %d is missing", round, seq)
			}
			var c int
			var n int64
			fmt.Sscanf(m.Subject, "s.%d", &c)
			fmt.Sscan(string(m.Data), &n)
			if n != next[c] {
				t.Fatalf("round %d: client %d's message %d comes where %d should", round, c, n, next[c])
			}
			next[c]++
		}
		for c := range clients {
			if next[c] < before[c] {
				t.Fatalf("round %d: client %d had %d answers, %d messages are there", round, c, before[c], next[c])
			}
		}
		info, err := b.p.ConsumerInfo("C")
		if err != nil || info.AckFloor.Stream < floor {
			t.Fatalf("round %d: floor %+v, %v; confirmed up to %d", round, info, err, floor)
		}
		b.close()
	}
}

// TestFailedWrite has the disk fail: everything after is refused with its reason, and what is stored can be read.
func TestFailedWrite(t *testing.T) {
	mem := vfs.NewMem()
	var broken atomic.Bool
	fault := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if broken.Load() && (op.Kind == vfs.OpSync || op.Kind == vfs.OpWrite) {
			return &vfs.Fault{Err: errors.New("disk is broken")}
		}
		return nil
	})
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, func(o *Options) { o.FS = fault })
	b.pub(testMsg{subject: "s.a", value: "good"})
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	broken.Store(true)
	for range 3 {
		ack := b.pub(testMsg{subject: "s.a", value: "bad"})
		if ack.Error == nil || ack.Error.Code != jsapi.ErrStreamStoreFailed {
			t.Fatalf("got %+v", ack)
		}
	}
	if _, err := b.p.Purge(&jsapi.PurgeRequest{}); err == nil {
		t.Fatal("purged on a broken disk")
	}
	if m, ok := b.get(jsapi.MsgGetRequest{Seq: 1}); !ok || string(m.Data) != "good" {
		t.Fatalf("got %+v", m)
	}
	if st := b.state(); st.Msgs != 1 || st.LastSeq != 1 {
		t.Fatalf("state %+v", st)
	}
	if seqs, _ := b.pull("C", 1); len(seqs) != 1 {
		t.Fatal("what is stored is not delivered")
	}
	b.hooks.mu.Lock()
	if b.hooks.failed == nil {
		t.Error("nobody was told")
	}
	b.hooks.mu.Unlock()
	_ = b.p.Close()
	broken.Store(false)
	b = b.reopen(mem)
	defer b.close()
	if st := b.state(); st.Msgs < 1 {
		t.Fatalf("after the restart: %+v", st)
	}
}

// TestOverload has a partition whose log does not come to an end: beyond the bound, publishes are refused with 429.
func TestOverload(t *testing.T) {
	mem := vfs.NewMem()
	hold := make(chan struct{})
	var slow atomic.Bool
	fault := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if slow.Load() && op.Kind == vfs.OpSync {
			<-hold
		}
		return nil
	})
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, func(o *Options) { o.FS = fault })
	b.p.box.bound = 64 << 10
	slow.Store(true)
	in := b.out.listen("r")
	for range 8 {
		batch := b.p.NewBatch()
		batch.Add([]byte("s.a"), []byte("r"), nil, make([]byte, 32<<10))
		go b.p.Publish(batch, true)
	}
	m := <-in
	if string(m.Header) != overload || !strings.Contains(string(m.Payload), `"err_code":10167`) {
		t.Fatalf("got %q %s", m.Header, m.Payload)
	}
	slow.Store(false)
	close(hold)
	stored := 0
	for range 7 {
		if m := <-in; len(m.Header) == 0 {
			stored++
		}
	}
	if st := b.state(); st.Msgs != uint64(stored) || stored == 0 {
		t.Fatalf("%d acknowledged, state %+v", stored, st)
	}
	b.close()
}
