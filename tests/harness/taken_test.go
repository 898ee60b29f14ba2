package harness

import (
	"io"
	"net"
	"testing"
)

func TestUnreadCountsWhatWaits(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	local, remote := client.RemoteAddr().(*net.TCPAddr), client.LocalAddr().(*net.TCPAddr)
	waiting := func(want int) {
		t.Helper()
		Eventually(t, func() error {
			n, err := unread(local, remote)
			if err != nil {
				t.Fatal(err)
			}
			return Want("unread bytes", n, want)
		})
	}
	waiting(0)
	if _, err := io.WriteString(client, "0123456789"); err != nil {
		t.Fatal(err)
	}
	waiting(10)
	if _, err := io.ReadFull(server, make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	waiting(3)
	server.Close()
	client.Close()
	waiting(0)
}
