package proxyproto

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const sig = "\r\n\r\n\x00\r\nQUIT\n"

func v4(command string, rest string) string {
	return sig + command + "\x11\x00" + string(rune(len(rest))) + rest
}

func TestRead(t *testing.T) {
	ip4 := "\x0a\x01\x02\x03\x0a\x01\x02\x04\x30\x39\x10\x92"
	ip6 := strings.Repeat("\x00", 15) + "\x01" + strings.Repeat("\x00", 15) + "\x02" + "\x00\x50\x00\x51"
	for _, c := range []struct{ in, client, rest string }{
		{"PROXY TCP4 10.1.2.3 10.1.2.4 12345 4222\r\nPING", "10.1.2.3:12345", "PING"},
		{"PROXY TCP6 2001:db8::1 ::1 1 2\r\nPING", "[2001:db8::1]:1", "PING"},
		{"PROXY UNKNOWN\r\nPING", "invalid AddrPort", "PING"},
		{"PROXY UNKNOWN whatever it is\r\nPING", "invalid AddrPort", "PING"},
		{v4("\x21", ip4) + "PING", "10.1.2.3:12345", "PING"},
		{v4("\x21", ip4+"\x04\x00\x01x") + "PING", "10.1.2.3:12345", "PING"},
		{v4("\x20", "") + "PING", "invalid AddrPort", "PING"},
		{sig + "\x21\x00\x00\x00PING", "invalid AddrPort", "PING"},
		{sig + "\x21\x21\x00\x24" + ip6 + "PING", "[::1]:80", "PING"},
	} {
		for _, cut := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
			all := strings.NewReader(c.in)
			client, first, err := Read(cut(all))
			if err != nil || first != nil || client.String() != c.client {
				t.Errorf("%q: %v %q %v", c.in, client, first, err)
			}
			if rest, _ := io.ReadAll(all); string(rest) != c.rest {
				t.Errorf("%q: %q is left", c.in, rest)
			}
		}
	}
}

func TestNoHeader(t *testing.T) {
	for _, in := range []string{"CONNECT {}\r\n", "PING\r\n", "\r\n\r\nxx", "PROXYx"} {
		r := strings.NewReader(in)
		_, first, err := Read(r)
		rest, _ := io.ReadAll(r)
		if err != nil || string(first)+string(rest) != in {
			t.Errorf("%q: %q and %q, %v", in, first, rest, err)
		}
	}
}

func TestBadHeaders(t *testing.T) {
	for _, in := range []string{
		"PROXY TCP4 10.1.2.3 10.1.2.4 12345\r\n", "PROXY TCP4 ::1 10.1.2.4 1 2\r\n", "PROXY TCP6 10.1.2.3 ::1 1 2\r\n",
		"PROXY TCP4 10.1.2.3 10.1.2.4 65536 2\r\n", "PROXY TCP4 10.1.2.3 10.1.2.4 -1 2\r\n", "PROXY UDP4 10.1.2.3 10.1.2.4 1 2\r\n",
		"PROXY TCP4 10.1.2.3 x 1 2\r\n", "PROXY \r\n", "PROXY " + strings.Repeat("x", 200) + "\r\n",
		"PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
		sig + "\x31\x11\x00\x00", sig + "\x22\x11\x00\x00", sig + "\x21\x12\x00\x0c" + strings.Repeat("x", 12),
		sig + "\x21\x31\x00\x0c" + strings.Repeat("x", 12), sig + "\x21\x11\x00\x03xxx", sig + "\x21\x11\xff\xff",
		"\r\n\r\n\x00\r\nQUIT!" + "\x21\x11\x00\x00",
	} {
		if client, _, err := Read(strings.NewReader(in)); !errors.Is(err, ErrHeader) {
			t.Errorf("%q: %v %v", in, client, err)
		}
	}
	for _, in := range []string{"", "PROXY", "PROXY TCP4 1", sig, sig + "\x21\x11\x00\x0cx"} {
		if _, _, err := Read(strings.NewReader(in)); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// A header is read whole or not at all, whatever it holds, and nothing behind it is touched.
func FuzzRead(f *testing.F) {
	f.Add([]byte("PROXY TCP4 10.1.2.3 10.1.2.4 12345 4222\r\nPING\r\n"))
	f.Add([]byte(sig + "\x21\x11\x00\x0c\x0a\x01\x02\x03\x0a\x01\x02\x04\x30\x39\x10\x92PING"))
	f.Add([]byte("CONNECT {}\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := strings.NewReader(string(b))
		client, first, err := Read(r)
		if err == nil && first != nil && (client.IsValid() || len(b)-r.Len() != First) {
			t.Fatalf("%q: %v, %d bytes read", b, client, len(b)-r.Len())
		}
		if used := len(b) - r.Len(); used > 16+restMax {
			t.Fatalf("%d bytes read", used)
		}
	})
}
