package compat

import (
	"strings"
	"testing"

	"godwit/tests/harness"
)

// verbs: every verb in the forms that are allowed, with what comes of it.
func verbs() []exchange {
	return []exchange{
		{name: "publish to oneself", send: "SUB a 1\r\nPUB a 5\r\nhello\r\n", want: "MSG a 1 5\r\nhello\r\n"},
		{name: "publish nothing", send: "SUB a 1\r\nPUB a 0\r\n\r\n", want: "MSG a 1 0\r\n\r\n"},
		{name: "reply subject", send: "SUB a 1\r\nPUB a r.1 2\r\nhi\r\n", want: "MSG a 1 r.1 2\r\nhi\r\n"},
		{name: "payload holding protocol", send: "SUB a 1\r\nPUB a 12\r\nPUB b 1\r\nx\r\n\r\n", want: "MSG a 1 12\r\nPUB b 1\r\nx\r\n\r\n"},
		{name: "payload of any bytes", send: "SUB a 1\r\nPUB a 4\r\n\x00\xff\r\n\r\n", want: "MSG a 1 4\r\n\x00\xff\r\n\r\n"},
		{name: "lower case", send: "sub a 1\r\npub a 1\r\nx\r\nunsub 1\r\npub a 1\r\nx\r\n", want: "MSG a 1 1\r\nx\r\n"},
		{name: "mixed case", send: "SuB a 1\r\npUb a 1\r\nx\r\n", want: "MSG a 1 1\r\nx\r\n"},
		{name: "bare line feeds", send: "SUB a 1\nPUB a 1\nx\r\n", want: "MSG a 1 1\r\nx\r\n"},
		{name: "tabs and many blanks", send: "SUB \t a \t  1 \r\nPUB\ta\t\t1\r\nx\r\n", want: "MSG a 1 1\r\nx\r\n"},
		{name: "sid of letters", send: "SUB a my-sid\r\nPUB a 1\r\nx\r\n", want: "MSG a my-sid 1\r\nx\r\n"},
		{name: "a refused reply, then the same subject", send: "SUB > 1\r\nPUB a 1\r\nx\r\nPUB a 1\r\nx\r\nPUB b _R_.x 1\r\nx\r\nPUB b 1\r\ny\r\n",
			want: "MSG a 1 1\r\nx\r\nMSG a 1 1\r\nx\r\n-ERR 'Permissions Violation for Publish with Reply of \"_R_.x\"'\r\nMSG b 1 1\r\ny\r\n"},
		{name: "ping", send: "PING\r\nping\r\nPINGxyz\r\n", want: "PONG\r\nPONG\r\nPONG\r\n"},
		{name: "pong", send: "PONG\r\npong\r\nPONGxyz\r\n", want: ""},
		{name: "ok from a client", send: "+OK\r\n", want: ""},
		{name: "info from a client", send: "INFO {\"a\":1}\r\nPING\r\n", want: "PONG\r\n"},
		{name: "error from a client", send: "-ERR 'x'\r\n", want: "", closed: true},
		{name: "connect without a blank", connect: "CONNECT{" + quiet + "}\r\n", send: "PING\r\n", want: "PONG\r\n"},
		{name: "connect in lower case", connect: "connect {" + quiet + "}\r\n", send: "PING\r\n", want: "PONG\r\n"},
		{name: "no connect at all", connect: "none", send: "SUB a 1\r\nPUB a 1\r\nx\r\n", want: ok + ok + "MSG a 1 1\r\nx\r\n"},
		{name: "ping before connect", connect: "none", send: "PING\r\n", want: "PONG\r\n"},
	}
}

// headers: HPUB in all its forms.
func headers() []exchange {
	return []exchange{
		{name: "with payload", send: "SUB a 1\r\nHPUB a 18 20\r\nNATS/1.0\r\nK: V\r\n\r\nhi\r\n",
			want: "HMSG a 1 18 20\r\nNATS/1.0\r\nK: V\r\n\r\nhi\r\n"},
		{name: "with reply", send: "SUB a 1\r\nHPUB a r 12 12\r\nNATS/1.0\r\n\r\n\r\n",
			want: "HMSG a 1 r 12 12\r\nNATS/1.0\r\n\r\n\r\n"},
		{name: "lower case", send: "SUB a 1\r\nhpub a 12 13\r\nNATS/1.0\r\n\r\nx\r\n",
			want: "HMSG a 1 12 13\r\nNATS/1.0\r\n\r\nx\r\n"},
		{name: "with a status", send: "SUB a 1\r\nHPUB a 26 26\r\nNATS/1.0 408 Timeout !\r\n\r\n\r\n",
			want: "HMSG a 1 26 26\r\nNATS/1.0 408 Timeout !\r\n\r\n\r\n"},
		{name: "block of any bytes", send: "SUB a 1\r\nHPUB a 5 7\r\nh\x00\xff\r\nhi\r\n",
			want: "HMSG a 1 5 7\r\nh\x00\xff\r\nhi\r\n"},
		{name: "empty block", send: "SUB a 1\r\nHPUB a 0 2\r\nhi\r\n", want: "MSG a 1 2\r\nhi\r\n"},
		{name: "header longer than all", send: "HPUB a 3 2\r\nhi\r\n", closed: true},
		{name: "without total", send: "HPUB a 2\r\nhi\r\n", closed: true},
		{name: "too many arguments", send: "HPUB a r 1 2 3\r\nhi\r\n", closed: true},
		{name: "negative header size", send: "HPUB a -1 2\r\nhi\r\n", closed: true},
		{name: "negative total", send: "HPUB a 1 -2\r\nhi\r\n", closed: true},
		{name: "total that is no number", send: "HPUB a 1 x\r\nhi\r\n", closed: true},
		{name: "not announced in connect", connect: connectLine(quiet), send: "HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n", closed: true},
		{name: "plain messages need no headers", connect: connectLine(quiet + `,"headers":false`),
			send: "SUB a 1\r\nPUB a 1\r\nx\r\n", want: "MSG a 1 1\r\nx\r\n"},
	}
}

// malformed: what ends a connection, with an error or without one.
func malformed() []exchange {
	return []exchange{
		{name: "unknown verb", send: "FOO\r\n", want: unknown, closed: true},
		{name: "empty line", send: "\r\n", want: unknown, closed: true},
		{name: "bare line feed", send: "\n", want: unknown, closed: true},
		{name: "leading blank", send: " PING\r\n", want: unknown, closed: true},
		{name: "a server's verb", send: "MSG a 1 1\r\nx\r\n", want: unknown, closed: true},
		{name: "a server's header verb", send: "HMSG a 1 1 1\r\nx\r\n", want: unknown, closed: true},
		{name: "a route's verb", send: "RS+ a\r\n", want: unknown, closed: true},
		{name: "an account's verb", send: "A+ a\r\n", want: unknown, closed: true},
		{name: "a leaf's verb", send: "LS+ a\r\n", want: unknown, closed: true},
		{name: "http", send: "GET / HTTP/1.1\r\n\r\n", want: unknown, closed: true},
		{name: "a TLS hello", send: "\x16\x03\x01\x02\x00", want: unknown, closed: true},
		{name: "NUL", send: "\x00", want: unknown, closed: true},
		{name: "invalid UTF-8", send: "\xff\xfe\r\n", want: unknown, closed: true},
		{name: "half a verb, then rubbish", send: "PUX a 1\r\n", want: unknown, closed: true},
		{name: "answer before the error", send: "PING\r\nFOO\r\n", want: "PONG\r\n" + unknown, closed: true},

		{name: "PUB without arguments", send: "PUB\r\n", want: unknown, closed: true},
		{name: "PUB without size", send: "PUB a\r\n", closed: true},
		{name: "PUB with too many arguments", send: "PUB a b c 1\r\nx\r\n", closed: true},
		{name: "PUB with a size that is no number", send: "PUB a x\r\nx\r\n", closed: true},
		{name: "PUB with a negative size", send: "PUB a -1\r\nx\r\n", closed: true},
		{name: "PUB with a signed size", send: "PUB a +1\r\nx\r\n", closed: true},
		{name: "PUB with a fractional size", send: "PUB a 1.0\r\nx\r\n", closed: true},
		{name: "PUB with a hexadecimal size", send: "PUB a 0x1\r\nx\r\n", closed: true},
		{name: "PUB with a size of 10 digits", send: "PUB a 0000000001\r\nx\r\n", closed: true},
		{name: "PUB with a size of 20 digits", send: "PUB a 99999999999999999999\r\nx\r\n", closed: true},
		{name: "PUB with a size that overflows 64 bits", send: "PUB a 18446744073709551617\r\nx\r\n", closed: true},
		{name: "PUB with a size of 9 digits", send: "PUB a 999999999\r\nx\r\n", want: tooLarge, closed: true},
		{name: "payload longer than announced", send: "PUB a 1\r\nxx\r\n", want: unknown, closed: true},
		{name: "payload ended by a bare line feed", send: "PUB a 1\r\nx\nPING\r\n", want: unknown, closed: true},
		{name: "payload shorter than announced", send: "PUB a 4\r\nx\r\nPING\r\n", want: unknown, closed: true},

		{name: "SUB without arguments", send: "SUB\r\n", want: unknown, closed: true},
		{name: "SUB without sid", send: "SUB a\r\n", closed: true},
		{name: "SUB with too many arguments", send: "SUB a q 1 2\r\n", closed: true},
		{name: "UNSUB without arguments", send: "UNSUB\r\n", want: unknown, closed: true},
		{name: "UNSUB with too many arguments", send: "UNSUB 1 2 3\r\n", closed: true},

		{name: "CONNECT that is no JSON", connect: "CONNECT hello\r\n", closed: true},
		{name: "CONNECT without anything", connect: "CONNECT\r\n", closed: true},
		{name: "CONNECT with a wrong type", connect: connectLine(`"verbose":"yes"`), closed: true},
		{name: "CONNECT with cut JSON", connect: "CONNECT {\"verbose\":\r\n", closed: true},
		{name: "protocol 2", connect: connectLine(quiet + `,"protocol":2`), want: "-ERR 'invalid client protocol'\r\n", closed: true},
		{name: "negative protocol", connect: connectLine(quiet + `,"protocol":-1`), want: "-ERR 'invalid client protocol'\r\n", closed: true},
		{name: "no responders without headers", connect: connectLine(quiet + `,"no_responders":true`),
			want: "-ERR 'no responders requires headers support'\r\n", closed: true},
	}
}

func TestVerbs(t *testing.T)     { runAll(t, harness.Start(t, harness.Options{}), verbs()) }
func TestHeaders(t *testing.T)   { runAll(t, harness.Start(t, harness.Options{}), headers()) }
func TestMalformed(t *testing.T) { runAll(t, harness.Start(t, harness.Options{}), malformed()) }

// Every exchange again, cut into two reads at every byte: the outcome must not depend on where a
// read ends.
func TestEveryCutGivesTheSameResult(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	for _, list := range [][]exchange{verbs(), headers(), malformed()} {
		for _, x := range list {
			t.Run(x.name, func(t *testing.T) {
				size := len(x.send)
				for at := 1; at < size && !t.Failed(); at++ {
					x.run(t, s, func(text string) []string {
						split := len(text) - size + at
						return []string{text[:split], text[split:]}
					})
				}
			})
		}
	}
}

// One byte at a time is the finest cut of all.
func TestByteByByte(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	for _, x := range []exchange{verbs()[0], verbs()[2], verbs()[8], headers()[0], headers()[1]} {
		t.Run(x.name, func(t *testing.T) {
			x.run(t, s, func(text string) []string { return strings.SplitAfter(text, "") })
		})
	}
}
