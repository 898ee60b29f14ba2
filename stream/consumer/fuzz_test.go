package consumer

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func FuzzAck(f *testing.F) {
	for _, s := range []string{"1.2.3.4.5", "1.2.3.4", "1.2.3.4.5.6", "", ".....", "1.18446744073709551616.3.4.5", "a.b.c.d.e", "1..2.3.4"} {
		for _, p := range []string{"", "+ACK", "-NAK", `-NAK {"delay":5}`, "-NAK 1h", "+TERM x", "+NXT {\"batch\":2}", "+WPI", "+"} {
			f.Add([]byte(s), []byte(p))
		}
	}
	f.Fuzz(func(t *testing.T, rest, payload []byte) {
		var b AckBatch
		b.Add(rest, []byte("r"), payload)
		ok := acceptableAck(string(rest))
		if (b.Len() == 1) != ok {
			t.Fatalf("%q: taken %v, want %v", rest, b.Len() == 1, ok)
		}
		if !ok {
			return
		}
		a := &b.acks[0]
		tok := strings.Split(string(rest), ".")
		if tok[1] != leading(a.Stream, tok[1]) || tok[2] != leading(a.Consumer, tok[2]) {
			t.Fatalf("%q: read %d and %d", rest, a.Stream, a.Consumer)
		}
		if a.Delay < 0 || string(b.slice(a.reply)) != "r" || !bytes.Contains(payload, b.slice(a.arg)) {
			t.Fatalf("%q: %+v", payload, a)
		}
		r := newRig(explicit())
		r.publish("s.a", "s.b")
		r.start()
		r.pull("2")
		b.C = r.c
		r.c.ApplyAcks(&b, r.now)
		r.pass(0)
	})
}

// acceptableAck says whether an acknowledgement's subject is well formed, in another way than the parser.
func acceptableAck(s string) bool {
	tok := strings.Split(s, ".")
	if len(tok) != 5 {
		return false
	}
	for _, w := range tok {
		if _, err := strconv.ParseUint(w, 10, 64); err != nil || strings.HasPrefix(w, "+") {
			return false
		}
	}
	return true
}

// leading writes n with the leading zeros that w has.
func leading(n uint64, w string) string { return fmt.Sprintf("%0*d", len(w), n) }

func FuzzPull(f *testing.F) {
	for _, s := range []string{"", "5", "-5", "{}", `{"batch":2,"expires":1000,"no_wait":true}`, `{"idle_heartbeat":9223372036854775807}`,
		`{"expires":-1}`, `{"max_bytes":-1}`, "[]", "junk", `{"batch":99999999999999999999}`, `{"expires":9223372036854775807,"batch":3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := newRig(explicit())
		r.publish("s.a", "s.b", "s.c")
		r.start()
		got := r.pull(string(body))
		if len(seqs(got)) == 0 && r.c.wait.n == 0 && len(statuses(got)) == 0 {
			t.Fatalf("%q vanished", body)
		}
		for _, m := range statuses(got) {
			if !strings.HasPrefix(m, "NATS/1.0 4") {
				t.Fatalf("%q: %q", body, m)
			}
		}
		r.c.NextDue(r.now)
		r.pass(1)
	})
}

func FuzzProgress(f *testing.F) {
	r := newRig(explicit())
	r.publish(numbered("s.", 10)...)
	r.start()
	got := r.pull("6")
	r.answer(got[2], "", "")
	r.answer(got[3], "-NAK 5s", "")
	f.Add(r.c.AppendProgress(nil))
	r.answer(got[0], "", "")
	f.Add(r.c.AppendProgress(nil))
	f.Add(r.c.AppendState(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(explicit())
		r.publish(numbered("s.", 10)...)
		c := r.make(r.c.cfg)
		if c.ApplyProgress(b) != nil {
			return
		}
		c.Activate(r.now, nil)
		c.Tick(r.now)
		c.Info(r.now)
		again := r.make(r.c.cfg)
		state := c.AppendState(nil)
		if err := again.ApplyProgress(state); err != nil {
			t.Fatalf("own state refused: %v", err)
		}
	})
}
