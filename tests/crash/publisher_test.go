package crash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// window is how many acknowledgements a publisher lets be outstanding.
const window = 256

// A publisher publishes numbered messages on a connection of its own, without waiting for each
// acknowledgement, until its connection breaks, and notes what was acknowledged.
type publisher struct {
	id    int
	first int // number of the first message of this round
	nc    *nats.Conn
	room  chan struct{} // one token per message without an acknowledgement
	total *atomic.Int64 // acknowledgements of all publishers of the round

	mu    sync.Mutex
	acked map[uint64]int // sequence → number
	odd   error          // the first acknowledgement that makes no sense
}

func newPublisher(s *harness.Server, id, first int, total *atomic.Int64) (*publisher, error) {
	p := &publisher{id: id, first: first, room: make(chan struct{}, window), total: total, acked: map[uint64]int{}}
	nc, err := nats.Connect(s.URL(), nats.NoReconnect(), nats.Timeout(harness.Patience), nats.ErrorHandler(ignore))
	if err != nil {
		return nil, err
	}
	p.nc = nc
	inbox := fmt.Sprintf("_INBOX.crash.%d", id)
	if _, err := nc.Subscribe(inbox+".*", p.ack); err != nil {
		return nil, err
	}
	return p, nc.Flush()
}

// subject spreads a publisher's messages over a few subjects.
func subject(id, number int) string { return fmt.Sprintf("crash.%d.%d", id, number%7) }

// body is the content of a message, the same whenever it is asked for: its name, and a tail of
// pseudo-random bytes whose length varies from nothing to a few KiB.
func body(id, number int) []byte {
	random := rand.New(rand.NewPCG(uint64(id), uint64(number)))
	out := fmt.Appendf(nil, "%d/%d/", id, number)
	size := random.IntN(200)
	if random.IntN(20) == 0 {
		size = random.IntN(8 << 10)
	}
	for range size {
		out = append(out, byte(random.Uint32()))
	}
	return out
}

// parseBody tells which message a body belongs to.
func parseBody(data []byte) (id, number int, err error) {
	parts := strings.SplitN(string(data[:min(len(data), 40)]), "/", 3)
	if len(parts) < 3 {
		return 0, 0, fmt.Errorf("body %.40q", data)
	}
	if id, err = strconv.Atoi(parts[0]); err != nil {
		return 0, 0, err
	}
	number, err = strconv.Atoi(parts[1])
	return id, number, err
}

// run publishes until the connection is gone.
func (p *publisher) run(dead <-chan struct{}) {
	defer p.nc.Close()
	for n := p.first; ; n++ {
		select {
		case p.room <- struct{}{}:
		case <-dead:
			return
		}
		if err := p.nc.PublishRequest(subject(p.id, n), fmt.Sprintf("_INBOX.crash.%d.%d", p.id, n), body(p.id, n)); err != nil {
			return
		}
	}
}

// ack notes one acknowledgement; the client calls it for one after the other.
func (p *publisher) ack(m *nats.Msg) {
	number, _ := strconv.Atoi(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
	var ack struct {
		Stream    string `json:"stream"`
		Sequence  uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
		Error     any    `json:"error"`
	}
	err := json.Unmarshal(m.Data, &ack)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, twice := p.acked[ack.Sequence]
	if err != nil || ack.Error != nil || ack.Sequence == 0 || ack.Duplicate || twice {
		if p.odd == nil {
			p.odd = fmt.Errorf("message %d of publisher %d: acknowledged with %s %v (error %v)", number, p.id, m.Data, m.Header, err)
		}
		return
	}
	p.acked[ack.Sequence] = number
	p.total.Add(1)
	select {
	case <-p.room:
	default:
	}
}
