package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

const (
	partCount      = 200
	partPublishers = 32
	keysPerPub     = 5
	partWorkers    = 3 // of the second durable
)

// keyed is one message: the n-th of a key.
type keyed struct {
	key, n int
}

func (k keyed) subject() string { return fmt.Sprintf("part.k%d", k.key) }
func (k keyed) String() string  { return fmt.Sprintf("%d/%d", k.key, k.n) }

func parseKeyed(m jetstream.Msg) (k keyed, err error) {
	if _, err = fmt.Sscanf(string(m.Data()), "%d/%d", &k.key, &k.n); err == nil && m.Subject() != k.subject() {
		err = fmt.Errorf("%v came on %s", k, m.Subject())
	}
	return k, err
}

// moving dials a server that gets another address with each start, whatever the client is told.
type moving struct{ addr atomic.Value }

// Dial fails while there is no server: repeated dials to a port that nobody listens on may connect to themselves.
func (d *moving) Dial(string, string) (net.Conn, error) {
	addr := d.addr.Load().(string)
	if addr == "" {
		return nil, errors.New("the server is down")
	}
	return net.Dial("tcp", addr)
}

func (d *moving) connect(t *testing.T) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.SetCustomDialer(d), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond),
		nats.ReconnectJitter(0, 0), nats.RetryOnFailedConnect(true), nats.ErrorHandler(ignore))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// audience is what one durable has seen.
type audience struct {
	t         *testing.T
	mu        sync.Mutex
	lives     *atomic.Int64       // of the server
	life      int64               // in which seen was filled
	seen      map[int]int         // by key: the last number delivered for the first time
	inOrder   bool                // one worker: what is delivered for the first time comes in order
	confirmed map[keyed]time.Time // when the server confirmed that it knows of the acknowledgement
	tried     map[keyed]bool      // an acknowledgement was sent
	refused   map[keyed]bool      // was given back once
	random    *rand.Rand
}

// order checks that what is delivered for the first time comes in order. A server that was killed may not know any more that
// something was.
func (a *audience) order(k keyed, m jetstream.Msg) {
	if life := a.lives.Load(); life != a.life {
		a.life = life
		clear(a.seen)
	}
	meta, err := m.Metadata()
	if err != nil {
		a.t.Error(err)
	} else if a.inOrder && meta.NumDelivered == 1 {
		if last := a.seen[k.key]; k.n < last {
			a.t.Errorf("%v came after %d of its key", k, last)
		}
		a.seen[k.key] = k.n
	}
}

// take handles one delivery, which was asked for at a time: some are given back once, the others acknowledged. It returns
// false if the server does not answer.
func (a *audience) take(m jetstream.Msg, asked time.Time) bool {
	k, err := parseKeyed(m)
	if err != nil {
		a.t.Error(err)
		return false
	}
	a.mu.Lock()
	if at, ok := a.confirmed[k]; ok && at.Before(asked) {
		a.t.Errorf("%v came again although its acknowledgement was confirmed", k)
	}
	a.order(k, m)
	back := !a.refused[k] && a.random.IntN(10) == 0
	if back {
		a.refused[k] = true
	} else {
		a.tried[k] = true
	}
	a.mu.Unlock()
	if back {
		_ = m.Nak() // if it is lost, the message comes back later
		return true
	}
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Second)
	defer cancel()
	if m.DoubleAck(ctx) != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.confirmed[k] = time.Now()
	return true
}

func (a *audience) work(ctx context.Context, js jetstream.JetStream, durable string) {
	for ctx.Err() == nil {
		c, err := js.Consumer(ctx, "PART", durable)
		if err != nil {
			continue
		}
		for ctx.Err() == nil {
			asked := time.Now()
			batch, err := c.Fetch(20, jetstream.FetchMaxWait(100*time.Millisecond))
			if err != nil {
				break
			}
			up := true
			for m := range batch.Messages() {
				up = up && a.take(m, asked) // after a kill the rest comes again
			}
		}
	}
}

// A stream of many partitions keeps the order of every key under many publishers, kills and redeliveries, and each of two
// durables is done with every message once.
func TestPartitionsKeepOrderAndLoseNothing(t *testing.T) {
	random := seeded(t, 2)
	perKey := harness.Count(t, "GODWIT_CRASH_PER_KEY", 12)
	const kills = 3
	s := harness.Start(t, harness.Options{Streams: true})
	d := &moving{}
	d.addr.Store(s.Addr())
	js := d.connect(t)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PART", Subjects: []string{"part.>"}, AllowDirect: true,
		Metadata: map[string]string{"godwit.partitions": fmt.Sprint(partCount)}})
	if err != nil {
		t.Fatal(err)
	}
	var lives atomic.Int64
	durables := map[string]*audience{}
	for _, name := range []string{"one", "two"} {
		if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second}); err != nil {
			t.Fatal(err)
		}
		durables[name] = &audience{t: t, lives: &lives, seen: map[int]int{}, inOrder: name == "one", confirmed: map[keyed]time.Time{}, tried: map[keyed]bool{},
			refused: map[keyed]bool{}, random: rand.New(rand.NewPCG(random.Uint64(), 0))}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var workers, publishing sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	for name, a := range durables {
		for range map[bool]int{true: 1, false: partWorkers}[a.inOrder] {
			own := d.connect(t)
			workers.Go(func() { a.work(ctx, own, name) })
		}
	}
	const total = partPublishers * keysPerPub
	var published atomic.Int64
	for p := range partPublishers {
		own := d.connect(t)
		publishing.Go(func() {
			for n := 1; n <= perKey; n++ {
				for key := p * keysPerPub; key < (p+1)*keysPerPub; key++ {
					k := keyed{key, n}
					for { // until it is acknowledged: with its id, a second attempt stores nothing twice
						try, done := context.WithTimeout(ctx, 500*time.Millisecond)
						_, err := own.Publish(try, k.subject(), []byte(k.String()), jetstream.WithMsgID(k.String()))
						done()
						if err == nil {
							break
						}
						if ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) {
							t.Error(err)
							return
						}
					}
					published.Add(1)
				}
			}
		})
	}
	for kill := 1; kill <= kills; kill++ {
		target := int64(total * perKey * kill / (kills + 1))
		harness.Eventually(t, func() error {
			if published.Load() < target {
				return fmt.Errorf("%d of %d messages published", published.Load(), target)
			}
			return nil
		})
		d.addr.Store("")
		s.Kill()
		lives.Add(1)
		s.Start()
		d.addr.Store(s.Addr())
	}
	publishing.Wait()
	want := total * perKey
	for name, a := range durables {
		harness.Eventually(t, func() error {
			if done := a.done(); done != want {
				c, err := stream.Consumer(t.Context(), name)
				if err != nil {
					return err
				}
				return fmt.Errorf("%s is done with %d of %d messages: %+v", name, done, want, c.CachedInfo())
			}
			return nil
		})
	}
	cancel()
	workers.Wait()
	checkPartitions(t, js, perKey)
}

// done counts messages that nothing more is to come of.
func (a *audience) done() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.tried)
}

// checkPartitions reads each key's messages, which have to be all of them in order.
func checkPartitions(t *testing.T, js jetstream.JetStream, perKey int) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "PART")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(partPublishers * keysPerPub * perKey); info.State.Msgs != want {
		t.Errorf("%d messages, want %d", info.State.Msgs, want)
	}
	for _, name := range []string{"one", "two"} {
		c, err := stream.Consumer(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if i := c.CachedInfo(); i.NumPending != 0 {
			t.Errorf("%s: %d messages were not delivered", name, i.NumPending)
		}
	}
	for key := range partPublishers * keysPerPub {
		next := uint64(1)
		for n := 1; n <= perKey; n++ {
			k := keyed{key, n}
			m, err := stream.GetMsg(t.Context(), next, jetstream.WithGetMsgSubject(k.subject()))
			if err != nil || string(m.Data) != k.String() {
				t.Fatalf("%v: %v %v", k, m, err)
			}
			if partition := (m.Sequence - 1) % partCount; n > 1 && partition != (next-2)%partCount {
				t.Errorf("%v is in another partition than the one before", k)
			}
			next = m.Sequence + 1
		}
	}
}
