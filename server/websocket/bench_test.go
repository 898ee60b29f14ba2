package websocket

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"godwit/protocol/ws"
)

const (
	benchMessage = 153 // bytes of a PUB with 128 bytes of payload
	benchFrame   = 64 << 10
)

var benchBlock = []byte(strings.Repeat("PUB bench.subject 128\r\n"+strings.Repeat("0123456789abcdef", 8)+"\r\n", benchFrame/benchMessage))

// BenchmarkRead reads what a client sends in masked frames of 64 KiB over TCP, and the same bytes without frames.
func BenchmarkRead(b *testing.B) {
	b.Run("websocket", func(b *testing.B) {
		r := listen(b, nil)
		c := r.open("/", "")
		s := r.take()
		benchmarkTransfer(b, c.Conn, raw(ws.OpBinary, 0, string(benchBlock)), s, len(benchBlock))
	})
	b.Run("tcp", func(b *testing.B) {
		from, to := tcpPair(b)
		benchmarkTransfer(b, from, benchBlock, to, len(benchBlock))
	})
}

// BenchmarkWrite writes frames of 64 KiB over TCP, and the same bytes without frames.
func BenchmarkWrite(b *testing.B) {
	b.Run("websocket", func(b *testing.B) {
		r := listen(b, nil)
		c := r.open("/", "")
		s := r.take()
		benchmarkTransfer(b, s, benchBlock, c.Conn, len(benchBlock)+4)
	})
	b.Run("tcp", func(b *testing.B) {
		from, to := tcpPair(b)
		benchmarkTransfer(b, from, benchBlock, to, len(benchBlock))
	})
}

// benchmarkTransfer writes block and reads n bytes, over and over.
func benchmarkTransfer(b *testing.B, from net.Conn, block []byte, to net.Conn, n int) {
	for _, nc := range []net.Conn{from, to} {
		nc.SetDeadline(time.Time{})
	}
	done := make(chan error, 1)
	go func() {
		p := make([]byte, 64<<10)
		for {
			if _, err := to.Read(p); err != nil {
				done <- err
				return
			}
		}
	}()
	b.SetBytes(int64(len(benchBlock)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := from.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(benchFrame/benchMessage), "ns/msg")
	from.Close()
	if err := <-done; err != io.EOF {
		b.Fatal(err)
	}
}

func tcpPair(b *testing.B) (from, to net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	if from, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if to, err = ln.Accept(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}
