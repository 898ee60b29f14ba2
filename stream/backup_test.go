package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/stream/archive"
	"godwit/stream/vfs"
)

func (b *bench) backup() []byte {
	b.t.Helper()
	k, err := b.asSet().Backup(true)
	if err != nil {
		b.t.Fatal(err)
	}
	defer k.Close()
	var buf bytes.Buffer
	if err := k.Write(&buf); err != nil {
		b.t.Fatal(err)
	}
	return buf.Bytes()
}

// asSet is the stream of which the partition is the only one.
func (b *bench) asSet() *Set { return &Set{parts: []*Partition{b.p}} }

// restored opens a new partition from an archive.
func (b *bench) restored(text []byte) *bench {
	b.t.Helper()
	fs := vfs.NewMem()
	if err := restoreTo(fs, b.cfg, text); err != nil {
		b.t.Fatal(err)
	}
	return openBench(b.t, fs, b.cfg, b.now, b.opts)
}

func restoreTo(fs vfs.FS, cfg jsapi.StreamConfig, text []byte) error {
	r, err := archive.NewReader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return Restore(Options{FS: fs, SegmentBytes: 64 << 10, Config: cfg}, func(i int, o *Options) {
		o.Dir, o.Key = fmt.Sprintf("/s/%d", i), [32]byte{1, byte(i)}
	}, r)
}

// all returns everything that is stored, as text.
func (b *bench) all() (out []string) {
	b.t.Helper()
	for _, seq := range b.stored() {
		m, ok := b.get(jsapi.MsgGetRequest{Seq: seq})
		if !ok {
			b.t.Fatalf("no message %d", seq)
		}
		out = append(out, fmt.Sprintf("%d %v %s %q %q", seq, m.Time.UnixNano(), m.Subject, m.Header, m.Data))
	}
	return out
}

// What a backup holds comes back with sequences, gaps, times and consumers, whatever was done before.
func TestBackupComesBackWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowRollup: true, FirstSeq: rapid.SampledFrom([]uint64{0, 1000}).Draw(rt, "first"),
			Compression: rapid.SampledFrom([]jsapi.Compression{jsapi.NoCompression, jsapi.S2Compression}).Draw(rt, "compression")}
		now := &clock{now: 1e18}
		b := openBench(t, vfs.NewMem(), cfg, now, nil)
		defer b.close()
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubjects: []string{"s.a", "s.b"}})
		b.consumer("D", jsapi.ConsumerConfig{AckPolicy: jsapi.AckAll})
		rt.Repeat(map[string]func(*rapid.T){
			"publish": func(rt *rapid.T) {
				var list []testMsg
				for range rapid.IntRange(1, 30).Draw(rt, "n") {
					m := testMsg{subject: rapid.SampledFrom([]string{"s.a", "s.b", "s.c.d"}).Draw(rt, "subject"), value: rapid.StringN(0, 20, 40).Draw(rt, "value")}
					if rapid.Bool().Draw(rt, "header") {
						m.headers = []string{fmt.Sprintf("Nats-Msg-Id: %d", rapid.Uint64().Draw(rt, "id"))}
					}
					list = append(list, m)
				}
				b.pubs(list...)
				now.pass(time.Second)
			},
			"delete": func(rt *rapid.T) {
				st := b.state()
				for range 5 {
					_ = b.p.Delete(rapid.Uint64Range(st.FirstSeq, st.LastSeq+1).Draw(rt, "seq"))
				}
			},
			"purge": func(rt *rapid.T) {
				if _, err := b.p.Purge(&jsapi.PurgeRequest{Subject: rapid.SampledFrom([]string{"", "s.a"}).Draw(rt, "filter"), Keep: rapid.Uint64Range(0, 3).Draw(rt, "keep")}); err != nil {
					rt.Fatal(err)
				}
			},
			"consume": func(rt *rapid.T) {
				for _, n := range []string{"C", "D"} {
					_, replies := b.pull(n, rapid.IntRange(1, 5).Draw(rt, "batch"))
					if len(replies) > 1 {
						b.ackSync(n, replies[1])
					}
				}
			},
			"": func(rt *rapid.T) {},
		})
		text := b.backup()
		r := b.restored(text)
		defer r.close()
		if got, want := r.all(), b.all(); !slices.Equal(got, want) {
			rt.Fatalf("messages\n got %v\nwant %v", got, want)
		}
		if got, want := r.state(), b.state(); !reflect.DeepEqual(got, want) {
			rt.Fatalf("state\n got %+v\nwant %+v", got, want)
		}
		for _, n := range []string{"C", "D"} {
			got, err := r.p.ConsumerInfo(n)
			want, err2 := b.p.ConsumerInfo(n)
			if err != nil || err2 != nil {
				rt.Fatal(err, err2)
			}
			if got.AckFloor.Consumer != want.AckFloor.Consumer || got.Delivered.Consumer != want.Delivered.Consumer || got.NumAckPending != want.NumAckPending || got.NumPending != want.NumPending {
				rt.Fatalf("%s\n got %+v\nwant %+v", n, got, want)
			}
		}
		if ack := r.pub(testMsg{subject: "s.a"}); ack.Error != nil || ack.Sequence != b.state().LastSeq+1 && b.state().LastSeq > 0 {
			rt.Fatalf("%+v after %+v", ack, b.state())
		}
	})
}

// While a backup is open its messages stay readable, though they are removed meanwhile.
func TestBackupHoldsWhatItBeganWith(t *testing.T) {
	now := &clock{now: 1e18}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, func(o *Options) { o.SegmentBytes, o.TailBytes = 8<<10, 4<<10 })
	defer b.close()
	var list []testMsg
	for i := range 1000 {
		list = append(list, testMsg{subject: "s.a", value: fmt.Sprint("value ", i)})
	}
	for len(list) > 0 {
		b.pubs(list[:50]...)
		list = list[50:]
	}
	k, err := b.asSet().Backup(false)
	if err != nil {
		t.Fatal(err)
	}
	want := b.all()
	if _, err := b.p.Purge(&jsapi.PurgeRequest{}); err != nil {
		t.Fatal(err)
	}
	b.pub(testMsg{subject: "s.z"})
	b.checkpoint()
	var buf bytes.Buffer
	if err := k.Write(&buf); err != nil {
		t.Fatal(err)
	}
	k.Close()
	r := b.restored(buf.Bytes())
	defer r.close()
	if got := r.all(); !slices.Equal(got, want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	before := b.p.log.FirstBase()
	b.pub(testMsg{subject: "s.z"})
	b.checkpoint()
	if b.p.log.FirstBase() <= before {
		t.Errorf("segments are kept after the backup: the first begins at %d", before)
	}
}

func TestBadArchives(t *testing.T) {
	cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}
	if err := CheckConfig(&cfg, Limits{}, false); err != nil {
		t.Fatal(err)
	}
	state := archive.Entry{Name: []byte(archive.StateName), Payload: []byte(`{"first_seq":1,"last_seq":5}`)}
	msg := func(seq uint64, subj string) archive.Entry { return archive.Entry{Name: []byte(subj), Seq: seq} }
	for name, list := range map[string][]archive.Entry{
		"empty":           {},
		"no state":        {msg(1, "s.a")},
		"bad state":       {{Name: []byte(archive.StateName), Payload: []byte("{")}},
		"backwards":       {state, msg(2, "s.a"), msg(1, "s.a")},
		"twice":           {state, msg(2, "s.a"), msg(2, "s.a")},
		"beyond the last": {state, msg(6, "s.a")},
		"bad subject":     {state, msg(1, "s..a")},
		"unknown entry":   {state, {Name: []byte("other")}},
		"bad consumer":    {state, {Name: []byte("consumers/C"), Payload: []byte(`{"config":{"durable_name":"C","ack_policy":"none"},"state":{},"godwit_progress":"AAAA"}`)}},
		"no config":       {state, {Name: []byte("consumers/C"), Payload: []byte(`{}`)}},
		"refused":         {state, {Name: []byte("consumers/C"), Payload: []byte(`{"config":{"durable_name":"C","ack_wait":-5},"state":{}}`)}},
	} {
		var buf bytes.Buffer
		w, err := archive.NewWriter(&buf)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if err := w.Write(&list[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := restoreTo(vfs.NewMem(), cfg, buf.Bytes()); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
