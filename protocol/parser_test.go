package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// recorder writes down what the parser found.
type recorder struct {
	strings.Builder
	last string // subject of the Pub before
}

func (r *recorder) Connect(js []byte) error { fmt.Fprintf(r, "CONNECT %q;", js); return nil }
func (r *recorder) Publish(p *Pub) error {
	if p.Same && string(p.Subject) != r.last {
		return fmt.Errorf("said to be the same as %q: %q", r.last, p.Subject)
	}
	r.last = string(p.Subject)
	verb, sizes := "PUB", fmt.Sprint(len(p.Body))
	if p.HPUB {
		verb, sizes = "HPUB", fmt.Sprint(p.HeaderLen, " ", len(p.Body))
	}
	tail := sizes + "\r\n" + string(p.Body) + "\r\n"
	if len(p.Reply) > 0 {
		tail = string(p.Reply) + " " + tail
	}
	if string(p.Tail) != tail && !looseSize(string(p.Tail), tail) {
		return fmt.Errorf("tail %q, want %q", p.Tail, tail)
	}
	fmt.Fprintf(r, "%s %q %q %q|%q;", verb, p.Subject, p.Reply, p.Header(), p.Payload())
	return nil
}

// looseSize reports whether two tails differ in leading zeros of sizes only: these are passed on as they came.
func looseSize(a, b string) bool {
	strip := func(s string) string {
		line, rest, _ := strings.Cut(s, "\r\n")
		f := strings.Fields(line)
		for i := range f {
			if t := strings.TrimLeft(f[i], "0"); t != "" {
				f[i] = t
			} else {
				f[i] = "0"
			}
		}
		return strings.Join(f, " ") + "\r\n" + rest
	}
	return strip(a) == strip(b)
}
func (r *recorder) Subscribe(subject, queue, sid []byte) error {
	fmt.Fprintf(r, "SUB %q %q %q;", subject, queue, sid)
	return nil
}
func (r *recorder) Unsubscribe(sid []byte, limit uint64) error {
	fmt.Fprintf(r, "UNSUB %q %d;", sid, limit)
	return nil
}
func (r *recorder) Ping() error                 { r.WriteString("PING;"); return nil }
func (r *recorder) Pong() error                 { r.WriteString("PONG;"); return nil }
func (r *recorder) PeerError(text []byte) error { return ErrPeer }

// feed parses in, arriving in pieces that end at the cuts.
func feed(in string, cuts ...int) (string, error) {
	p := &Parser{ControlLine: 64, Payload: 100}
	r := &recorder{}
	var held []byte
	at := 0
	for _, cut := range append(cuts, len(in)) {
		held = append(held, in[at:cut]...)
		at = cut
		if len(held) < p.Want {
			continue
		}
		buf := append([]byte(nil), held...)
		n, err := p.Parse(buf, r)
		for i := range buf {
			buf[i] = 'X' // what the parser keeps must be its own
		}
		if err != nil {
			return r.String(), err
		}
		held = held[n:]
	}
	return r.String(), nil
}

func TestParser(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct {
		name, in, want string
		err            error
	}{
		{"publish", "PUB a 2\r\nhi\r\n", `PUB "a" "" ""|"hi";`, nil},
		{"publish with reply", "PUB a b 2\r\nhi\r\n", `PUB "a" "b" ""|"hi";`, nil},
		{"empty payload", "PUB a 0\r\n\r\n", `PUB "a" "" ""|"";`, nil},
		{"equal lines", "PUB a 1\r\nx\r\nPUB a 1\r\ny\r\nPUB a 1\r\nz\r\n", `PUB "a" "" ""|"x";PUB "a" "" ""|"y";PUB "a" "" ""|"z";`, nil},
		{"same subject, other size", "PUB a 1\r\nx\r\nPUB a 2\r\nyy\r\nPUB a r 1\r\nz\r\n", `PUB "a" "" ""|"x";PUB "a" "" ""|"yy";PUB "a" "r" ""|"z";`, nil},
		{"another subject with reply in between", "PUB a 1\r\nx\r\nPUB b r 1\r\ny\r\nPUB a 1\r\nz\r\n", `PUB "a" "" ""|"x";PUB "b" "r" ""|"y";PUB "a" "" ""|"z";`, nil},
		{"reply in between", "PUB a 1\r\nx\r\nPUB a r 1\r\ny\r\nPUB a 1\r\nz\r\n", `PUB "a" "" ""|"x";PUB "a" "r" ""|"y";PUB "a" "" ""|"z";`, nil},
		{"subject is a prefix of the one before", "PUB ab 1\r\nx\r\nPUB a 1\r\ny\r\n", `PUB "ab" "" ""|"x";PUB "a" "" ""|"y";`, nil},
		{"subject that extends the one before", "PUB a 1\r\nx\r\nPUB ab 1\r\ny\r\n", `PUB "a" "" ""|"x";PUB "ab" "" ""|"y";`, nil},
		{"verb in lower case", "pub a 1\r\nx\r\nPub a 1\r\ny\r\n", `PUB "a" "" ""|"x";PUB "a" "" ""|"y";`, nil},
		{"blanks and tabs", "PUB \t a\t  b 2\r\nhi\r\n", `PUB "a" "b" ""|"hi";`, nil},
		{"bare line feed", "PUB a 2\nhi\r\n", `PUB "a" "" ""|"hi";`, nil},
		{"trailing blank", "PUB a 2 \r\nhi\r\n", `PUB "a" "" ""|"hi";`, nil},
		{"headers", "HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", `HPUB "a" "" "NATS/1.0\r\n\r\n"|"hi";`, nil},
		{"headers with reply", "HPUB a b 12 14\r\nNATS/1.0\r\n\r\nhi\r\nHPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n",
			`HPUB "a" "b" "NATS/1.0\r\n\r\n"|"hi";HPUB "a" "" "NATS/1.0\r\n\r\n"|"";`, nil},
		{"headers after a plain one", "PUB a 1\r\nx\r\nHPUB a 1 2\r\nhp\r\nPUB a 1\r\ny\r\n", `PUB "a" "" ""|"x";HPUB "a" "" "h"|"p";PUB "a" "" ""|"y";`, nil},
		{"no header block", "HPUB a 0 1\r\nx\r\n", `HPUB "a" "" ""|"x";`, nil},
		{"subscribe", "SUB a 1\r\nSUB b q 2\r\nsub c 3\n", `SUB "a" "" "1";SUB "b" "q" "2";SUB "c" "" "3";`, nil},
		{"unsubscribe", "UNSUB 1\r\nUNSUB 2 5\r\nUNSUB 3 x\r\n", `UNSUB "1" 0;UNSUB "2" 5;UNSUB "3" 0;`, nil},
		{"ping swallows its line", "PINGxyz\r\nPONG \r\nPING\n", `PING;PONG;PING;`, nil},
		{"connect without blank", "CONNECT{}\r\nconnect \t{\"a\":1}\r\n", `CONNECT "{}";CONNECT "{\"a\":1}";`, nil},
		{"what servers say is ignored", "INFO {}\r\n+OK\r\nPING\r\n", `PING;`, nil},
		{"payload longer than announced", "PUB a 1\r\nhi\r\n", "", ErrUnknownOp},
		{"payload ends without CR", "PUB a 1\r\nx\n\n", "", ErrUnknownOp},
		{"payload ends without LF", "PUB a 1\r\nx\rx", "", ErrUnknownOp},
		{"unknown verb", "FOO\r\n", "", ErrUnknownOp},
		{"unknown verb without an end", "PUX", "", ErrUnknownOp},
		{"HTTP", "GET / HTTP/1.1\r\n", "", ErrUnknownOp},
		{"verbs of servers", "MSG a 1 1\r\nx\r\n", "", ErrUnknownOp},
		{"empty line", "\r\n", "", ErrUnknownOp},
		{"verb without blank", "SUBa 1\r\n", "", ErrUnknownOp},
		{"NUL", "PING\r\n\x00", "PING;", ErrUnknownOp},
		{"error from the client", "-ERR 'x'\r\n", "", ErrPeer},
		{"no arguments", "PUB \r\n", "", ErrArguments},
		{"one argument", "PUB a\r\n", "", ErrArguments},
		{"four arguments", "PUB a b c 1\r\n", "", ErrArguments},
		{"negative size", "PUB a -1\r\n", "", ErrArguments},
		{"size with sign", "PUB a +1\r\n", "", ErrArguments},
		{"size of 20 digits", "PUB a 18446744073709551617\r\n", "", ErrArguments},
		{"size that is text", "PUB a b\r\n", "", ErrArguments},
		{"header longer than all", "HPUB a 3 2\r\n", "", ErrArguments},
		{"HPUB with one size", "HPUB a 3\r\n", "", ErrArguments},
		{"SUB without sid", "SUB a\r\n", "", ErrArguments},
		{"SUB with four arguments", "SUB a b c d\r\n", "", ErrArguments},
		{"UNSUB without sid", "UNSUB \r\n", "", ErrArguments},
		{"payload over the limit is refused before it comes", "PUB a 101\r\n", "", ErrMaxPayload},
		{"payload at the limit", "PUB a 100\r\n" + long + "\r\n", `PUB "a" "" ""|"` + long + `";`, nil},
		{"line over the limit", "SUB " + long + " 1\r\n", "", ErrControlLine},
		{"line over the limit that does not end", "PUB " + long, "", ErrControlLine},
		{"subject that is not UTF-8", "PUB \xff\xfe 1\r\nx\r\n", `PUB "\xff\xfe" "" ""|"x";`, nil},
		{"NUL in a subject", "PUB a\x00b 1\r\nx\r\n", `PUB "a\x00b" "" ""|"x";`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range len(tt.in) + 1 { // every place a read can end
				for _, more := range []int{cut, min(cut+1, len(tt.in)), min(cut+3, len(tt.in))} {
					got, err := feed(tt.in, cut, more)
					if got != tt.want || !errors.Is(err, tt.err) {
						t.Fatalf("cut at %d and %d: got %q, %v; want %q, %v", cut, more, got, err, tt.want, tt.err)
					}
				}
			}
		})
	}
}

func TestParserGateStopsAtFirstOperation(t *testing.T) {
	refused := errors.New("refused")
	p := &Parser{ControlLine: 64, Payload: 100, Gate: func(first byte) error {
		if first == 'C' {
			return nil
		}
		return refused
	}}
	r := &recorder{}
	if _, err := p.Parse([]byte("CONNECT {}\r\nPING\r\n"), r); err != refused || r.String() != `CONNECT "{}";` {
		t.Fatalf("got %q, %v", r, err)
	}
}

func TestParserAsksForWholePayload(t *testing.T) {
	p := &Parser{ControlLine: 64, Payload: 100}
	in := "PUB a 50\r\nxx"
	if n, err := p.Parse([]byte(in), &recorder{}); n != 0 || err != nil || p.Want != len("PUB a 50\r\n")+50+2 {
		t.Fatalf("used %d, want %d, %v", n, p.Want, err)
	}
}

// FuzzParser checks that the place where reads end never changes what is understood.
func FuzzParser(f *testing.F) {
	for _, s := range []string{"PUB a 2\r\nhi\r\nPUB a 2\r\nho\r\n", "HPUB a b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", "SUB a q 1\r\nUNSUB 1 2\r\n",
		"CONNECT {}\r\nPING\r\nPONG\r\n", "PUB a\tb  2\nhi\r\n", "-ERR 'x'\r\n", "PUB a 18446744073709551617\r\n", "INFO {}\r\n+OK\r\n"} {
		f.Add(s, uint(3), uint(7))
	}
	f.Fuzz(func(t *testing.T, in string, a, b uint) {
		if len(in) > 4096 {
			return
		}
		whole, werr := feed(in)
		x, y := int(a%uint(len(in)+1)), int(b%uint(len(in)+1))
		cut, cerr := feed(in, min(x, y), max(x, y))
		if whole != cut || (werr == nil) != (cerr == nil) || werr != nil && werr.Error() != cerr.Error() {
			t.Fatalf("whole: %q, %v\ncut at %d and %d: %q, %v", whole, werr, min(x, y), max(x, y), cut, cerr)
		}
	})
}

type discard struct{ n int }

func (d *discard) Connect([]byte) error                 { return nil }
func (d *discard) Publish(p *Pub) error                 { d.n++; return nil }
func (d *discard) Subscribe(_, _, _ []byte) error       { return nil }
func (d *discard) Unsubscribe(_ []byte, _ uint64) error { return nil }
func (d *discard) Ping() error                          { return nil }
func (d *discard) Pong() error                          { return nil }
func (d *discard) PeerError([]byte) error               { return nil }

func BenchmarkParse(b *testing.B) {
	payload := strings.Repeat("x", 128)
	for name, line := range map[string]string{"same": "PUB foo.bar 128\r\n", "reply": "PUB foo.bar _INBOX.abc.%d 128\r\n", "other": "PUB foo.%d 128\r\n"} {
		b.Run(name, func(b *testing.B) {
			var buf []byte
			const n = 1000
			for i := range n {
				if strings.Contains(line, "%") {
					buf = fmt.Appendf(buf, line, i)
				} else {
					buf = append(buf, line...)
				}
				buf = append(append(buf, payload...), "\r\n"...)
			}
			p, d := &Parser{ControlLine: DefaultControlLine, Payload: DefaultPayload}, &discard{}
			b.ReportAllocs()
			for b.Loop() {
				if used, err := p.Parse(buf, d); used != len(buf) || err != nil {
					b.Fatal(used, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(d.n), "ns/msg")
		})
	}
}
