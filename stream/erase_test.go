package stream

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// confidential is a text that there is once, hardly compressible.
func confidential(i int) string {
	rng := rand.New(rand.NewPCG(uint64(i), 5))
	b := []byte(fmt.Sprintf("confidential %d ", i))
	for range 100 {
		b = append(b, byte('!'+rng.IntN(90)))
	}
	return string(b)
}

func secretMsg(i int) testMsg {
	return testMsg{subject: fmt.Sprint("s.", i%5), value: confidential(i), headers: []string{fmt.Sprint("Nats-Msg-Id: id", i), "Token: " + confidential(1000+i)}}
}

// leak says which file of the partition holds what a message says.
func (b *bench) leak(fs *vfs.Mem, i int) string {
	b.t.Helper()
	return b.holds(fs, confidential(i)[:40]) + b.holds(fs, confidential(1000 + i)[:40])
}

// holds says which file of the partition holds a text.
func (b *bench) holds(fs *vfs.Mem, text string) string {
	b.t.Helper()
	list, err := fs.ReadDir("/s/0")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range list {
		data, err := vfs.ReadFile(fs, path.Join("/s/0", e.Name), 1<<30)
		if errors.Is(err, iofs.ErrNotExist) {
			continue // it was given back, or got its name
		}
		if err != nil {
			b.t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			return e.Name
		}
	}
	return ""
}

// erasedAll waits until nothing waits to be overwritten.
func (b *bench) erasedAll() {
	b.t.Helper()
	for busy := true; busy; runtime.Gosched() {
		b.inTurn(func() { busy = b.p.erase.running || len(b.p.erase.list)+len(b.p.erase.stuck) > 0 })
	}
}

// An erasing delete is answered when no file holds the message any more, wherever it lies: nothing else changes, now or after
// a start from a checkpoint before it.
func TestEraseLeavesNothingOfTheMessage(t *testing.T) {
	for _, cfg := range []jsapi.StreamConfig{
		{Name: "S", Subjects: []string{"s.>"}},
		{Name: "S", Subjects: []string{"s.>"}, Compression: jsapi.S2Compression},
		{Name: "S", Subjects: []string{"s.>"}, Storage: jsapi.MemoryStorage},
	} {
		now := &clock{now: 1e18}
		cfg.Duplicates = 10000 * time.Hour // waiting for a checkpoint may take long on that clock
		b := openBench(t, vfs.NewMem(), cfg, now, func(o *Options) { o.SegmentBytes, o.TailBytes = 16<<10, 8<<10 })
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		for i := 1; i <= 100; i += 5 {
			b.pubs(secretMsg(i), secretMsg(i+1), secretMsg(i+2), secretMsg(i+3), secretMsg(i+4))
			if i == 61 {
				b.checkpoint()
			}
		}
		b.pull("C", 30)
		b.all() // fills the cache
		for _, seq := range []uint64{3, 50, 63, 99, 100, 1} {
			if err := b.p.Erase(seq); err != nil {
				t.Fatal(err)
			}
			if name := b.leak(b.fs, int(seq)); name != "" {
				t.Fatalf("%+v: message %d is still in %s", cfg, seq, name)
			}
		}
		if err := b.p.Erase(50); err == nil || err.Code != jsapi.ErrSequenceNotFound {
			t.Fatalf("again: %v", err)
		}
		if err := b.p.Delete(60); err != nil {
			t.Fatal(err)
		}
		if name := b.leak(b.fs, 60); name == "" && cfg.Compression == jsapi.NoCompression {
			t.Error("a plain delete overwrites the message")
		}
		want, state := b.all(), b.state()
		if state.Msgs != 93 {
			t.Fatalf("%+v", state)
		}
		r := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(1, 1))))
		if got := r.all(); !slices.Equal(got, want) {
			t.Fatalf("after a power cut\n%v\nwant\n%v", got, want)
		}
		if got := r.state(); got.Msgs != state.Msgs || got.Bytes != state.Bytes || got.FirstSeq != state.FirstSeq || got.LastSeq != state.LastSeq {
			t.Fatalf("after a power cut %+v, want %+v", got, state)
		}
		if ack := r.pub(secretMsg(50)); !ack.Duplicate || ack.Sequence != 50 {
			t.Fatalf("the id of an erased message is forgotten: %+v", ack)
		}
		r.close()
		c, err := Check(Options{Dir: "/s/0", FS: b.fs, Key: [32]byte{1}, SegmentBytes: 16 << 10, Config: b.cfg}, func(int64) {})
		if err != nil || len(c.Faults) > 0 {
			t.Fatalf("%+v %v", c, err)
		}
		b.close()
	}
}

// A power cut at any operation while messages are erased: a message is there whole, or deleted and soon erased; what was
// answered for is erased.
func TestPowerCutWhileErasing(t *testing.T) {
	now := &clock{now: 1e18}
	mem := vfs.NewMem()
	type cut struct {
		fs   *vfs.Mem
		done int
	}
	var mu sync.Mutex
	var cuts []cut
	var on atomic.Bool
	var done atomic.Int32
	fsys := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if on.Load() && op.Kind != vfs.OpRead && op.Kind != vfs.OpStat && op.Kind != vfs.OpReadDir {
			mu.Lock()
			defer mu.Unlock()
			for range 3 {
				cuts = append(cuts, cut{mem.CrashClone(rand.New(rand.NewPCG(uint64(len(cuts)), 1))), int(done.Load())})
			}
		}
		return nil
	})
	small := func(o *Options) { o.SegmentBytes, o.TailBytes = 16<<10, 8<<10 }
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, func(o *Options) { small(o); o.FS = fsys })
	for i := 1; i <= 60; i += 3 {
		b.pubs(secretMsg(i), secretMsg(i+1), secretMsg(i+2))
	}
	b.checkpoint()
	whole := b.all()
	seqs := []uint64{2, 3, 40, 60, 1}
	on.Store(true)
	for i, seq := range seqs {
		if i == 3 {
			b.checkpoint()
		}
		if err := b.p.Erase(seq); err != nil {
			t.Fatal(err)
		}
		done.Add(1)
	}
	b.close()
	on.Store(false)
	for i, c := range cuts {
		r := openBench(t, c.fs, b.cfg, now, small)
		r.erasedAll()
		got := r.all()
		for k, seq := range seqs {
			there := slices.Contains(got, whole[seq-1])
			if there && k < c.done {
				t.Fatalf("cut %d: message %d came back", i, seq)
			}
			if name := r.leak(c.fs, int(seq)); !there && name != "" {
				t.Fatalf("cut %d: deleted message %d is still in %s", i, seq, name)
			}
		}
		if gone := 60 - len(got); gone < c.done || gone > c.done+1 {
			t.Fatalf("cut %d after %d: %d are gone", i, c.done, gone)
		}
		for _, m := range got {
			if !slices.Contains(whole, m) {
				t.Fatalf("cut %d: %s", i, m)
			}
		}
		r.close()
	}
	t.Logf("%d cuts", len(cuts))
}

// Messages that cannot be overwritten in place go when their segment is rewritten, before the answer comes.
func TestEraseWhatDoesNotFit(t *testing.T) {
	now := &clock{now: 1e18}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Compression: jsapi.S2Compression}, now, nil)
	same := testMsg{subject: "s.a", value: confidential(1)[:85]}
	b.pubs(same, same)
	b.pubs(secretMsg(3), secretMsg(4))
	before := b.all()
	hold, err := b.asSet().Backup(false)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.p.Erase(1); err != nil {
		t.Fatal(err)
	}
	if serial := b.p.log.Inner(b.p.log.LastIndex()); len(serial) != 1 || !serial[0].Rewritten {
		t.Skipf("it did fit: %+v", serial)
	}
	if got := b.all(); !slices.Equal(got, before[1:]) {
		t.Fatalf("%v", got)
	}
	var archived bytes.Buffer
	if err := hold.Write(&archived); err != nil {
		t.Fatal(err)
	}
	hold.Close()
	if r := b.restored(archived.Bytes()); len(r.all()) != 3 {
		t.Errorf("the backup has %v", r.all())
	} else {
		r.close()
	}
	if err := b.p.Erase(2); err != nil {
		t.Fatal(err)
	}
	if name := b.leak(b.fs, 1); name != "" {
		t.Errorf("it is still in %s", name)
	}
	r := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(1, 1))))
	if got := r.all(); !slices.Equal(got, before[2:]) {
		t.Fatalf("%v", got)
	}
	r.close()
	b.close()
}

// Where the disk has no room for it, the answer says so; the message is gone, and overwritten with the next one.
func TestEraseOnAFullDisk(t *testing.T) {
	now := &clock{now: 1e18}
	mem := vfs.NewMem()
	var full atomic.Bool
	fsys := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if full.Load() && op.Kind == vfs.OpWrite && strings.Contains(op.Path, "/erasing") {
			return &vfs.Fault{Err: syscall.ENOSPC}
		}
		return nil
	})
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, func(o *Options) { o.FS = fsys })
	b.pubs(secretMsg(1), secretMsg(2), secretMsg(3))
	full.Store(true)
	if err := b.p.Erase(2); err == nil || err.Code != jsapi.ErrStreamMsgDeleteFailed {
		t.Fatal(err)
	}
	if got := b.stored(); len(got) != 2 || b.leak(mem, 2) == "" {
		t.Fatalf("%v", got)
	}
	b.checkpoint()
	full.Store(false)
	if err := b.p.Erase(1); err != nil {
		t.Fatal(err)
	}
	if name := b.leak(mem, 1) + b.leak(mem, 2); name != "" {
		t.Errorf("they are still in %s", name)
	}
	b.close()
}

func TestEraseContent(t *testing.T) {
	for in, want := range map[string]string{
		"": "",
		"NATS/1.0\r\nToken: abc\r\nNats-Msg-Id: 7\r\nEmpty:\r\n\r\n": "NATS/1.0\r\nToken:xxxx\r\nNats-Msg-Id: 7\r\nEmpty:\r\n\r\n",
		"NATS/1.0\nnats-msg-id: 7\n\n":                               "NATS/1.0\nnats-msg-id:xx\n\n",
		"NATS/1.0\r\nno colon\r\n":                                   "NATS/1.0\r\nxxxxxxxx\r\n",
	} {
		r := segment.Record{Subject: []byte("s"), Header: []byte(in), Value: []byte("value")}
		eraseContent(&r)
		if string(r.Header) != want || string(r.Value) != "\x00\x00\x00\x00\x00" || string(r.Subject) != "s" {
			t.Errorf("%q became %q, %q", in, r.Header, r.Value)
		}
	}
}
