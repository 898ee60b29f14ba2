//go:build unix

package logging

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// logEverything writes a line of each level.
func logEverything(l *Logger) {
	l.Noticef("notice")
	l.Warnf("two\nlines")
	l.Errorf("error")
	l.Fatalf("fatal")
	l.Debugf("debug")
	l.Tracef("trace")
}

// severities are the priorities of those lines; the facility is 0.
var severities = []string{"<5> notice", "<4> two", "<3> error", "<2> fatal", "<7> debug", "<5> trace"}

// checkSyslog compares messages, which are "<N>time host name[pid]: text" or without a host.
func checkSyslog(t *testing.T, got []string) {
	t.Helper()
	form := regexp.MustCompile(`^(<\d>)\S.* godwit\[` + fmt.Sprint(os.Getpid()) + `\]: (\w+)`)
	for i, want := range severities {
		m := form.FindStringSubmatch(got[i])
		if m == nil || m[1]+" "+m[2] != want {
			t.Errorf("got %q, want %s", got[i], want)
		}
	}
}

func packets(t *testing.T, c net.PacketConn) []string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var got []string
	buf := make([]byte, 2048)
	for range severities {
		n, _, err := c.ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(buf[:n]))
	}
	return got
}

func TestSyslogUDP(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l := open(t, Options{RemoteSyslog: "udp://" + c.LocalAddr().String(), Name: "godwit", Debug: true, Trace: true, Time: true, JSON: true})
	logEverything(l)
	got := packets(t, c)
	checkSyslog(t, got)
	if !strings.HasSuffix(got[1], "]: two\n\tlines\n") {
		t.Errorf("%q", got[1])
	}
}

func TestSyslogUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	c, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Skip("no datagram sockets here: ", err)
	}
	defer c.Close()
	_, err = New(Options{RemoteSyslog: "unix://" + path})
	if err == nil || !strings.HasPrefix(err.Error(), `error connecting to syslog: "dial unix `) {
		t.Errorf("a stream socket was expected by the URL, but: %v", err)
	}
}

func TestSyslogTCP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	l := open(t, Options{RemoteSyslog: "tcp://" + ln.Addr().String(), Name: "godwit", Debug: true, Trace: true})
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	logEverything(l)
	var got []string
	for s := bufio.NewScanner(c); len(got) < len(severities) && s.Scan(); {
		if strings.HasPrefix(s.Text(), "<") {
			got = append(got, s.Text())
		}
	}
	if len(got) != len(severities) {
		t.Fatalf("%q", got)
	}
	checkSyslog(t, got)
}

func TestSyslogErrors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"foo://x":                  `error invalid network type: "foo"`,
		"tcp://" + free:            `error connecting to syslog: "dial tcp ` + free + `: connect: connection refused"`,
		"unix:///nonexistent.sock": `error connecting to syslog: "dial unix /nonexistent.sock: connect: no such file or directory"`,
		"udp://":                   `error connecting to syslog: "dial udp: missing address"`,
		"127.0.0.1:514":            `parse "127.0.0.1:514": first path segment in URL cannot contain colon`,
	} {
		if _, err := New(Options{RemoteSyslog: address}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", address, err, want)
		}
	}
}

func TestTargetPrecedence(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want target
	}{{Options{}, toStderr}, {Options{Syslog: true}, toSyslog}, {Options{RemoteSyslog: "udp://x:1"}, toSyslog}, {Options{File: "f", Syslog: true, RemoteSyslog: "u"}, toFile}} {
		if got := tt.o.target(); got != tt.want {
			t.Errorf("%+v: %d", tt.o, got)
		}
	}
}
