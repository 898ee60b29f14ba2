package conn

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"godwit/server/monitor"
	"godwit/server/router"
)

// pair returns an outbound side and the client's end of its connection, over TCP with buffers that many writes do not fit into.
func pair(t *testing.T, pending int64) (*outbound, net.Conn, chan monitor.Reason) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	served, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { served.Close() })
	tcp := served.(*net.TCPConn)
	tcp.SetWriteBuffer(64 << 10)
	client.(*net.TCPConn).SetReadBuffer(64 << 10)
	sock, err := newSocket(tcp)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan monitor.Reason, 10)
	o := &outbound{nc: served, sock: sock, pending: pending, soft: pending / 2, done: make(chan struct{})}
	o.failed = func(r monitor.Reason, _ string) {
		failed <- r
		o.abort()
	}
	o.deadline.Store(int64(10 * time.Second))
	return o, client, failed
}

// hand gives b to the outbound side as a sender does.
func hand(o *outbound, b []byte, alone bool) router.Done {
	bl := router.NewBlock(len(b))
	d := o.take(router.Handover{Block: bl, N: copy(bl.B, b), Counts: router.Counts{Msgs: 1, Bytes: uint64(len(b))}, Alone: alone, MayWait: true})
	if !d.Kept {
		bl.Release()
	}
	return d
}

// Frames of one sender arrive whole and in order, whoever writes them: the sender, or the writer goroutine after the
// socket took only a part.
func TestFramesOfManySendersArriveWholeAndInOrder(t *testing.T) {
	o, client, failed := pair(t, 64<<20)
	const senders, frames = 4, 400
	sizes := []int{12, 100, 5 << 10, 40 << 10}
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for n := range frames {
				b := bytes.Repeat([]byte{byte('a' + s)}, sizes[(n+s)%len(sizes)])
				binary.LittleEndian.PutUint32(b, uint32(len(b)))
				binary.LittleEndian.PutUint32(b[4:], uint32(s))
				binary.LittleEndian.PutUint32(b[8:], uint32(n))
				if hand(o, b, n%2 == 0).Full {
					o.stall()
				}
			}
		})
	}
	next := [senders]uint32{}
	head := make([]byte, 12)
	for range senders * frames {
		if _, err := io.ReadFull(client, head); err != nil {
			t.Fatal(err)
		}
		size, s, n := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
		if s >= senders || n != next[s] || size < 12 || size > 40<<10 {
			t.Fatalf("frame of %d bytes, number %d of sender %d; want number %d", size, n, s, next[min(s, senders-1)])
		}
		next[s]++
		rest := make([]byte, size-12)
		if _, err := io.ReadFull(client, rest); err != nil {
			t.Fatal(err)
		}
		if len(bytes.Trim(rest, string(rune('a'+s)))) > 0 {
			t.Fatalf("frame %d of sender %d holds bytes of others", n, s)
		}
	}
	wg.Wait()
	if msgs, _ := o.counts(); msgs != senders*frames {
		t.Errorf("counted %d messages", msgs)
	}
	o.finish()
	if n, err := client.Read(head); err != io.EOF {
		t.Errorf("got %d bytes and %v behind the last frame", n, err)
	}
	<-o.done
	if len(failed) > 0 {
		t.Errorf("failed: %v", <-failed)
	}
}

func TestFinishWritesWhatIsQueued(t *testing.T) {
	o, client, _ := pair(t, 64<<20)
	b := bytes.Repeat([]byte("x"), 1<<20)
	hand(o, b, true)
	hand(o, []byte("last"), false)
	o.finish()
	got, err := io.ReadAll(client)
	if err != nil || len(got) != len(b)+4 || !bytes.HasSuffix(got, []byte("last")) {
		t.Fatalf("got %d bytes, %v", len(got), err)
	}
	<-o.done
}

func TestReaderThatIsTooSlowIsCutOff(t *testing.T) {
	o, _, failed := pair(t, 256<<10)
	b := bytes.Repeat([]byte("x"), 100<<10)
	for range 100 {
		hand(o, b, false)
		select {
		case r := <-failed:
			if r != monitor.ReasonSlowConsumerPendingBytes {
				t.Fatalf("failed: %v", r)
			}
			<-o.done
			if hand(o, b, false).Kept || o.queuedBytes() > 0 {
				t.Error("a closed connection still queues")
			}
			return
		default:
		}
	}
	t.Fatal("100 messages of 100 KiB fit into 256 KiB")
}

func TestWriteDeadlineClosesTheConnection(t *testing.T) {
	o, _, failed := pair(t, 64<<20)
	o.deadline.Store(int64(50 * time.Millisecond))
	b := bytes.Repeat([]byte("x"), 8<<20)
	hand(o, b, false)
	if r := <-failed; r != monitor.ReasonSlowConsumerWriteDeadline {
		t.Fatalf("failed: %v", r)
	}
	<-o.done
}
