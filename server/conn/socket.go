package conn

import (
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket writes to a plain TCP connection without a goroutine: each call does what the kernel takes at once, or waits.
// Its fields are reused, so that writing does not allocate. Only who is busy (see outbound) may use it.
type socket struct {
	raw  syscall.RawConn
	segs [][]byte // what start was given
	rest [][]byte // of segs, what is still to be sent
	wait bool
	n    int
	err  error
	iov  []unix.Iovec
	call func(fd uintptr) bool
}

func newSocket(nc *net.TCPConn) (*socket, error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{raw: raw}
	s.call = s.ready
	return s, nil
}

// start sets what the following writes send. The bytes are lent until done.
func (s *socket) start(segs ...[]byte) {
	s.segs = append(s.segs[:0], segs...)
	s.rest = s.segs
}

// done lets go of what start was given.
func (s *socket) done() {
	clear(s.segs)
	s.rest = nil
}

// write goes on sending. With wait it returns when all is sent or the write deadline has passed, else after the first
// write that the socket did not take completely. It returns how many bytes went out.
func (s *socket) write(wait bool) (int, error) {
	s.wait, s.n, s.err = wait, 0, nil
	err := s.raw.Write(s.call)
	if s.err != nil {
		err = s.err
	}
	return s.n, err
}

func (s *socket) ready(fd uintptr) bool {
	for {
		for len(s.rest) > 0 && len(s.rest[0]) == 0 {
			s.rest = s.rest[1:]
		}
		if len(s.rest) == 0 {
			return true
		}
		n, err := s.send(int(fd))
		s.n += n
		for i := 0; n > 0; i++ { // a partial write may end inside a frame: the rest must come next
			k := min(n, len(s.rest[i]))
			s.rest[i] = s.rest[i][k:]
			n -= k
		}
		switch err {
		case nil, syscall.EINTR:
		case syscall.EAGAIN:
			return !s.wait
		default:
			s.err = err
			return true
		}
	}
}

func (s *socket) send(fd int) (int, error) {
	if len(s.rest) == 1 {
		n, err := syscall.Write(fd, s.rest[0])
		return max(n, 0), err
	}
	s.iov = s.iov[:0]
	for _, b := range s.rest[:min(len(s.rest), 1024)] {
		if len(b) > 0 {
			v := unix.Iovec{Base: unsafe.SliceData(b)}
			v.SetLen(len(b))
			s.iov = append(s.iov, v)
		}
	}
	n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&s.iov[0])), uintptr(len(s.iov)))
	clear(s.iov)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
