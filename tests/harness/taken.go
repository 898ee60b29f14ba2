package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// WaitTaken waits until the server has read all that was sent on the connection.
func WaitTaken(t testing.TB, conn *net.TCPConn) {
	t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(50 * time.Microsecond) {
		n, err := unread(conn.RemoteAddr().(*net.TCPAddr), conn.LocalAddr().(*net.TCPAddr))
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the server does not read")
		}
	}
}

// Layout of the kernel's socket diagnosis, sock_diag(7).
const (
	netlinkHeader  = 16
	diagRequest    = 56 // struct inet_diag_req_v2
	diagSocketID   = 48 // struct inet_diag_sockid
	diagReadQueue  = netlinkHeader + 4 + diagSocketID + 4
	diagByFamily   = 20
	netlinkError   = 2
	everyTCPState  = 0xffffffff
	noDiagCookie   = 0xffffffff
	diagReplyBytes = 4096
)

// unread asks the kernel how many bytes wait to be read on the socket that has these addresses:
// local is its own one. A socket that is gone has none.
func unread(local, remote *net.TCPAddr) (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, fmt.Errorf("socket diagnosis: %w", err)
	}
	defer unix.Close(fd)
	req := make([]byte, netlinkHeader+diagRequest)
	native := binary.NativeEndian
	native.PutUint32(req, uint32(len(req)))
	native.PutUint16(req[4:], diagByFamily)
	native.PutUint16(req[6:], unix.NLM_F_REQUEST)
	body := req[netlinkHeader:]
	body[0], body[1] = unix.AF_INET, unix.IPPROTO_TCP
	native.PutUint32(body[4:], everyTCPState)
	id := body[8:]
	binary.BigEndian.PutUint16(id, uint16(local.Port))
	binary.BigEndian.PutUint16(id[2:], uint16(remote.Port))
	copy(id[4:], local.IP.To4())
	copy(id[20:], remote.IP.To4())
	native.PutUint32(id[40:], noDiagCookie)
	native.PutUint32(id[44:], noDiagCookie)
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("socket diagnosis: %w", err)
	}
	reply := make([]byte, diagReplyBytes)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil {
		return 0, fmt.Errorf("socket diagnosis: %w", err)
	}
	if n >= netlinkHeader+4 && native.Uint16(reply[4:]) == netlinkError {
		if code := unix.Errno(-int32(native.Uint32(reply[netlinkHeader:]))); !errors.Is(code, unix.ENOENT) {
			return 0, fmt.Errorf("socket diagnosis: %w", code)
		}
		return 0, nil
	}
	if n < diagReadQueue+4 {
		return 0, fmt.Errorf("socket diagnosis: a reply of %d bytes", n)
	}
	return int(native.Uint32(reply[diagReadQueue:])), nil
}
