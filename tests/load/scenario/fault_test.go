package scenario

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"godwit/tests/load/fleet"
)

// badServer is a tiny server for one subject that mistreats message 500 of a
// run as told: the tool must notice.
func badServer(t *testing.T, fault string) *fleet.Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	var subs []net.Conn
	n := 0
	deliver := func(payload []byte) {
		for _, s := range subs {
			fmt.Fprintf(s, "MSG load 1 %d\r\n%s\r\n", len(payload), payload)
		}
	}
	var held []byte
	publish := func(payload []byte) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 500 {
			switch fault {
			case "drop":
				return
			case "duplicate":
				deliver(payload)
			case "swap":
				held = payload
				return
			case "corrupt":
				payload[3] ^= 1
			}
		}
		deliver(payload)
		if held != nil {
			deliver(held)
			held = nil
		}
	}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				fmt.Fprintf(nc, "INFO {\"server_name\":\"bad\"}\r\n")
				r := bufio.NewReader(nc)
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					switch f := strings.Fields(line); f[0] {
					case "PING":
						fmt.Fprintf(nc, "PONG\r\n")
					case "SUB":
						mu.Lock()
						subs = append(subs, nc)
						mu.Unlock()
					case "PUB":
						var size int
						fmt.Sscan(f[len(f)-1], &size)
						payload := make([]byte, size+2)
						if _, err := io.ReadFull(r, payload); err != nil {
							return
						}
						publish(payload[:size])
					}
				}
			}()
		}
	}()
	return &fleet.Server{Name: "bad", Addr: l.Addr().String()}
}

func TestFaultsAreNoticed(t *testing.T) {
	for fault, want := range map[string]string{
		"": "", "drop": "lost", "duplicate": "duplicated", "swap": "out of order", "corrupt": "corrupt",
	} {
		e := &Env{Settings: &Settings{Nodes: 1, Flight: 8 << 20}, Msgs: 2000, Size: 64,
			Cluster: &fleet.Cluster{Servers: []*fleet.Server{badServer(t, fault)}}, deadline: time.Now().Add(10 * time.Second)}
		_, err := corePubSub(e)
		e.Close()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("fault %q: %v", fault, err)
		}
		if fault == "swap" || fault == "corrupt" {
			continue // a queue group sees a swapped pair only if one member gets both
		}
		e = &Env{Settings: &Settings{Nodes: 1, Flight: 8 << 20, Conns: 1, Subs: 1}, Msgs: 2000, Size: 64,
			Cluster: &fleet.Cluster{Servers: []*fleet.Server{badServer(t, fault)}}, deadline: time.Now().Add(3 * time.Second)}
		_, err = coreQueue(e)
		e.Close()
		if (want == "") != (err == nil) {
			t.Errorf("queue with fault %q: %v", fault, err)
		}
	}
}
