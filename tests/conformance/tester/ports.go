package tester

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
)

// portPool hands out loopback TCP ports from a fixed range. The range lies
// below the kernel's ephemeral range, so an outgoing connection can never sit
// on the port of a server that a test has stopped.
//
// A port stays reserved for the life of its instance by a socket that is bound
// but never listens. Such a socket refuses connections, keeps every other
// program's plain bind away, and does not hinder the managed server, because
// both sides carry SO_REUSEADDR (Go's net.Listen sets it).
type portPool struct {
	low, high int

	mu   sync.Mutex
	next int
	held map[int]int // port -> file descriptor
}

func newPortPool(low, high int) *portPool {
	return &portPool{
		low:  low,
		high: high,
		next: low + rand.IntN(high-low+1),
		held: map[int]int{},
	}
}

func (p *portPool) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.high - p.low + 1 {
		port := p.next
		if p.next++; p.next > p.high {
			p.next = p.low
		}
		if _, used := p.held[port]; used {
			continue
		}
		fd, err := holdPort(port)
		if err != nil {
			continue
		}
		p.held[port] = fd
		return port, nil
	}
	return 0, fmt.Errorf("no free port in %d-%d", p.low, p.high)
}

func (p *portPool) release(ports ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range ports {
		if fd, ok := p.held[port]; ok {
			syscall.Close(fd)
			delete(p.held, port)
		}
	}
}

// holdPort binds without SO_REUSEADDR, so the bind fails when anybody has the
// port in any state, and only then allows the managed server in.
func holdPort(port int) (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}
