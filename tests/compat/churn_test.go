package compat

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"godwit/tests/harness"
)

// Connections that open, subscribe, publish and drop at random leave nothing behind: no
// connection, no subscription, no goroutine, and no memory that grows from wave to wave.
func TestChurnLeavesNothingBehind(t *testing.T) {
	const connections, atOnce = 5000, 200
	waves := harness.Count(t, "GODWIT_CHURN_WAVES", 2)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := harness.Start(t, harness.Options{Config: "prof_port: -1"})
	before := measure(t, s)
	var first leftovers
	for wave := range waves {
		var work sync.WaitGroup
		failures := make(chan error, atOnce)
		for worker := range atOnce {
			random := rand.New(rand.NewPCG(seed, uint64(wave*atOnce+worker)))
			work.Go(func() {
				for range connections / atOnce {
					if err := visit(s.Addr(), random); err != nil {
						failures <- err
						return
					}
				}
			})
		}
		work.Wait()
		select {
		case err := <-failures:
			t.Fatalf("wave %d: %v", wave, err)
		default:
		}
		var after leftovers
		harness.Eventually(t, func() error {
			after = measure(t, s)
			if after.connections != 0 || after.subscriptions != before.subscriptions {
				return fmt.Errorf("%d connections and %d subscriptions, %d before", after.connections, after.subscriptions, before.subscriptions)
			}
			// The request for the dump itself may have one more or less under way.
			if after.goroutines > before.goroutines+3 {
				return fmt.Errorf("%d goroutines, %d before", after.goroutines, before.goroutines)
			}
			return nil
		})
		if wave == 0 {
			first = after
		} else if limit := first.memory*5/4 + 4<<20; after.memory > limit {
			t.Errorf("after wave %d the server holds %d KB, after the first one %d KB", wave, after.memory>>10, first.memory>>10)
		}
	}
}

// leftovers is what a server holds.
type leftovers struct {
	connections   int
	subscriptions int
	goroutines    int
	memory        int64 // bytes of live heap; what the process has mapped depends on when it was busy
}

func measure(t *testing.T, s *harness.Server) (l leftovers) {
	t.Helper()
	var varz struct{ Connections int }
	s.Monitor(t, "/varz", &varz)
	var subsz struct {
		Subscriptions int `json:"num_subscriptions"`
	}
	s.Monitor(t, "/subsz", &subsz)
	l.connections, l.subscriptions = varz.Connections, subsz.Subscriptions
	l.goroutines = strings.Count("\n"+string(s.Page(t, "/stacksz")), "\ngoroutine ")
	l.memory = liveHeap(t, s)
	return l
}

var heapLine = regexp.MustCompile(`# HeapAlloc = (\d+)`)

// liveHeap is the server's heap after collections; the first one leaves what pools hold.
func liveHeap(t *testing.T, s *harness.Server) (n int64) {
	t.Helper()
	url := "http://127.0.0.1:" + s.WaitLog(`profiling port: (\d+)`)[1] + "/debug/pprof/heap?gc=1&debug=1"
	for range 2 {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		found := heapLine.FindSubmatch(body)
		if err != nil || found == nil {
			t.Fatalf("no heap in the profile: %v", err)
		}
		n, _ = strconv.ParseInt(string(found[1]), 10, 64)
	}
	return n
}

// visit opens a connection, does a few random things on it, and leaves in a random way.
func visit(addr string, random *rand.Rand) error {
	conn, err := net.DialTimeout("tcp", addr, harness.Patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(harness.Patience))
	if random.IntN(10) == 0 {
		return nil // gone before the greeting
	}
	var b strings.Builder
	b.WriteString(harness.QuietConnect)
	for i := range random.IntN(8) {
		subject := []string{"churn.a", "churn.*", "churn.>", fmt.Sprintf("churn.%d", random.IntN(1000))}[random.IntN(4)]
		switch random.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "SUB %s q%d %d\r\n", subject, random.IntN(3), i)
		case 1:
			fmt.Fprintf(&b, "SUB %s %d\r\nUNSUB %d %d\r\n", subject, i, i, random.IntN(3))
		default:
			fmt.Fprintf(&b, "SUB %s %d\r\n", subject, i)
		}
	}
	for range random.IntN(4) {
		fmt.Fprintf(&b, "PUB churn.%d 5\r\nhello\r\n", random.IntN(1000))
	}
	switch random.IntN(4) {
	case 0: // all processed
		b.WriteString("PING\r\n")
		if _, err := io.WriteString(conn, b.String()); err != nil {
			return err
		}
		return awaitPong(conn)
	case 1: // a frame cut short
		_, err = io.WriteString(conn, b.String()+"PUB churn.a 100\r\nhalf of")
	case 2: // an error that closes
		if _, err = io.WriteString(conn, b.String()+"FOO\r\n"); err == nil {
			io.Copy(io.Discard, conn)
		}
	default: // reset, with whatever was not read
		conn.(*net.TCPConn).SetLinger(0)
		_, err = io.WriteString(conn, b.String())
	}
	return err
}

// awaitPong reads until the answer to a PING, which messages may precede.
func awaitPong(conn net.Conn) error {
	var tail []byte
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		tail = append(tail, buf[:n]...)
		if strings.Contains(string(tail), "PONG\r\n") {
			return nil
		}
		if err != nil {
			return err
		}
		if keep := len("PONG\r\n"); len(tail) > keep {
			tail = tail[len(tail)-keep:]
		}
	}
}
