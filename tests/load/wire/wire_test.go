package wire

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// pipeConn returns a connection whose server side sends text in pieces of n
// bytes.
func pipeConn(t *testing.T, text string, n int) *Conn {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	go func() {
		for len(text) > 0 {
			k := min(n, len(text))
			if _, err := b.Write([]byte(text[:k])); err != nil {
				return
			}
			text = text[k:]
		}
		b.Close()
	}()
	return &Conn{nc: a, buf: make([]byte, 16)}
}

func TestNextParsesFragments(t *testing.T) {
	text := "MSG a.b 7 5\r\nhello\r\n" +
		"+OK\r\n" +
		"MSG x 12 _INBOX.q 0\r\n\r\n" +
		"INFO {}\r\nPONG\r\n" +
		"HMSG h 3 re.ply 23 25\r\nNATS/1.0 408 Timeout\r\n\r\nxy\r\n"
	text = strings.Replace(text, "23 25", "24 26", 1)
	for n := 1; n <= len(text); n++ {
		c := pipeConn(t, text, n)
		want := []struct {
			subject, reply, payload string
			sid                     uint64
			status                  int
		}{{"a.b", "", "hello", 7, 0}, {"x", "_INBOX.q", "", 12, 0}, {"h", "re.ply", "xy", 3, 408}}
		for i, w := range want {
			m, err := c.Next()
			if err != nil {
				t.Fatalf("pieces of %d, message %d: %v", n, i, err)
			}
			got := fmt.Sprint(string(m.Subject()), string(m.Reply()), string(m.Payload), m.Sid(), m.Status())
			if exp := fmt.Sprint(w.subject, w.reply, w.payload, w.sid, w.status); got != exp {
				t.Fatalf("pieces of %d, message %d: got %s, want %s", n, i, got, exp)
			}
		}
		if _, err := c.Next(); err == nil {
			t.Fatal("expected the end of the stream")
		}
	}
}

func TestNextRejects(t *testing.T) {
	for _, text := range []string{"-ERR 'Slow Consumer'\r\n", "MSG a 1 2\r\nabcd\r\n", "WHAT\r\n"} {
		if m, err := pipeConn(t, text, 100).Next(); err == nil {
			t.Errorf("%q gave message %q", text, m.Payload)
		}
	}
}

func TestFrames(t *testing.T) {
	f := NewFrames("s.###.x", "_IN.####", 20, 5)
	f.Stamp(1, 77)
	f.Subject(1, 42)
	f.Reply(1, 9999)
	frame := f.buf[f.Size : 2*f.Size]
	if head := "PUB s.042.x _IN.9999 20\r\n"; string(frame[:len(head)]) != head {
		t.Errorf("frame starts with %q", frame[:len(head)])
	}
	seq, pub, err := ReadStamp(frame[f.body:])
	if seq != 77 || pub != 5 || err != nil {
		t.Errorf("stamp %d of %d, %v", seq, pub, err)
	}
	frame[f.body]++
	if _, _, err := ReadStamp(frame[f.body:]); err == nil {
		t.Error("corrupt stamp accepted")
	}
	if f = NewFrames("a", "b.#", 0, 0); string(f.Bytes(1)) != "PUB a b.0 0\r\n\r\n" {
		t.Errorf("empty frame %q", f.Bytes(1))
	}
	f.Stamp(0, 1) // must not touch anything
	if string(f.Bytes(1)) != "PUB a b.0 0\r\n\r\n" {
		t.Errorf("empty frame %q", f.Bytes(1))
	}
}

func stamped(seq uint64, pub uint32) []byte {
	p := NewPayload(32)
	StampPayload(p, seq, pub)
	return p
}

func TestOrdered(t *testing.T) {
	for _, c := range []struct {
		seqs []uint64
		fail string
	}{
		{[]uint64{0, 1, 2}, ""},
		{[]uint64{0, 2}, "lost"},
		{[]uint64{0, 1, 1}, "duplicated"},
		{[]uint64{1}, "lost"},
	} {
		o := NewOrdered(1, 32)
		var err error
		for _, s := range c.seqs {
			if err = o.Check(stamped(s, 0)); err != nil {
				break
			}
		}
		if c.fail == "" && err != nil || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%v: %v", c.seqs, err)
		}
	}
	bad := stamped(0, 0)
	bad[31]++
	if NewOrdered(1, 32).Check(bad) == nil {
		t.Error("corrupt body accepted")
	}
}

func TestShared(t *testing.T) {
	run := func(msgs uint64, members ...[]uint64) error {
		var all []*Shared
		for _, seqs := range members {
			s := NewShared(1, msgs, 32)
			for _, seq := range seqs {
				if err := s.Check(stamped(seq, 0)); err != nil {
					return err
				}
			}
			all = append(all, s)
		}
		return MergeShared(all, msgs)
	}
	if err := run(4, []uint64{0, 3}, []uint64{1, 2}); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"lost":     run(4, []uint64{0, 3}, []uint64{1}),
		"twice":    run(4, []uint64{0, 3}, []uint64{1, 2, 3}),
		"order":    run(4, []uint64{3, 0}, []uint64{1, 2}),
		"too high": run(4, []uint64{0, 64}, nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
