package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

func (t *Tool) bench() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{jsonFlag(), &cli.IntFlag{Name: "msgs", Value: 100_000, Usage: "messages, of all clients together"},
			&cli.IntFlag{Name: "clients", Value: 1, Usage: "connections"}, &cli.StringFlag{Name: "size", Value: "128", Usage: "bytes of a message"}}, more...)
	}
	return &cli.Command{Name: "bench", Usage: "measure a server, as one client sees it", Subcommands: []*cli.Command{
		t.leaf(&cli.Command{Name: "pub", Usage: "publish as fast as it goes", ArgsUsage: "SUBJECT", Flags: flags()}, benchPub),
		t.leaf(&cli.Command{Name: "sub", Usage: "publish to subscribers, each of which gets all", ArgsUsage: "SUBJECT", Flags: flags(
			&cli.IntFlag{Name: "subscribers", Value: 1, Usage: "connections that subscribe"})}, benchSub),
		t.leaf(&cli.Command{Name: "request", Usage: "ask a responder of its own, one question after the other for each client", ArgsUsage: "SUBJECT", Flags: flags()}, benchRequest),
		t.leaf(&cli.Command{Name: "js-pub", Usage: "publish into a stream", ArgsUsage: "SUBJECT", Flags: flags(
			&cli.IntFlag{Name: "pending", Value: 500, Usage: "acknowledgements that a client may wait for; 1 publishes one after the other"})}, benchStreamPub),
		t.leaf(&cli.Command{Name: "js-consume", Usage: "read a stream through a consumer of its own", ArgsUsage: "STREAM", Flags: flags(
			&cli.StringFlag{Name: "ack", Value: "explicit", Usage: "explicit or none"}, &cli.IntFlag{Name: "batch", Value: 500, Usage: "messages asked for at once"})}, benchConsume),
	}}
}

// measured is what a run came to.
type measured struct {
	Case       string             `json:"case"`
	Conditions string             `json:"conditions"`
	Clients    int                `json:"clients"`
	Size       int64              `json:"size_bytes"`
	Msgs       int                `json:"messages"`
	Seconds    float64            `json:"seconds"`
	PerSecond  float64            `json:"messages_per_second"`
	BytesPer   float64            `json:"bytes_per_second"`
	Latency    map[string]float64 `json:"latency_seconds,omitempty"` // percentiles
}

// latencies gathers how long things took.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(list []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, list...)
}

var percentiles = []struct {
	name string
	part float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}

func (l *latencies) percentiles() map[string]float64 {
	if len(l.all) == 0 {
		return nil
	}
	slices.Sort(l.all)
	m := map[string]float64{}
	for _, p := range percentiles {
		m[p.name] = l.all[min(int(p.part*float64(len(l.all))), len(l.all)-1)].Seconds()
	}
	return m
}

// plan reads the flags that all have.
func (c *call) plan(name string) (*measured, error) {
	size, err := parseSize("size", c.String("size"))
	if err != nil {
		return nil, err
	}
	m := &measured{Case: name, Clients: c.Int("clients"), Size: size, Msgs: c.Int("msgs")}
	if m.Clients < 1 || m.Msgs < m.Clients || size < 0 || size > c.nc.MaxPayload() {
		return nil, usage("--clients is to be 1 or more, --msgs no less than that, and --size at most %d", c.nc.MaxPayload())
	}
	m.Msgs -= m.Msgs % m.Clients
	return m, nil
}

// dial opens another connection like the call's.
func (c *call) dial() (*nats.Conn, error) {
	o := c.nc.Opts
	return o.Connect()
}

// spread runs work for each client with its share of the messages, each on a connection of its own, and takes the time.
func (c *call) spread(m *measured, work func(nc *nats.Conn, share int) error) error {
	conns := make([]*nats.Conn, m.Clients)
	for i := range conns {
		nc, err := c.dial()
		if err != nil {
			return err
		}
		defer nc.Close()
		conns[i] = nc
	}
	var wg sync.WaitGroup
	errs := make([]error, m.Clients)
	start := time.Now()
	for i, nc := range conns {
		wg.Go(func() { errs[i] = work(nc, m.Msgs/m.Clients) })
	}
	wg.Wait()
	m.finish(time.Since(start))
	return errors.Join(errs...)
}

func (m *measured) finish(took time.Duration) {
	m.Seconds = took.Seconds()
	m.PerSecond = float64(m.Msgs) / m.Seconds
	m.BytesPer = m.PerSecond * float64(m.Size)
}

// tell prints what was measured.
func (c *call) tellMeasured(m *measured) error {
	if c.Bool("json") {
		return c.t.printJSON(m)
	}
	c.t.printf("%s: %s messages of %s by %d clients in %.2f s\n", m.Case, count(uint64(m.Msgs)), size(uint64(m.Size)), m.Clients, m.Seconds)
	c.t.printf("  %s messages per second, %s per second\n", count(uint64(m.PerSecond)), size(uint64(m.BytesPer)))
	if m.Latency != nil {
		var parts []string
		for _, p := range percentiles {
			parts = append(parts, p.name+" "+seconds(m.Latency[p.name]))
		}
		c.t.printf("  latency %s\n", strings.Join(parts, ", "))
	}
	c.t.printf("  %s\n", m.Conditions)
	return nil
}

func benchPub(c *call) error {
	m, err := c.plan("publish")
	if err != nil {
		return err
	}
	m.Conditions = "nobody needs to have got them: the time ends when the server has read them all"
	body := make([]byte, m.Size)
	err = c.spread(m, func(nc *nats.Conn, share int) error {
		for range share {
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
			if err := nc.Publish(c.Args().First(), body); err != nil {
				return err
			}
		}
		return nc.FlushTimeout(time.Minute)
	})
	if err != nil {
		return err
	}
	return c.tellMeasured(m)
}

func benchSub(c *call) error {
	m, err := c.plan("publish and subscribe")
	if err != nil {
		return err
	}
	n := c.Int("subscribers")
	if n < 1 {
		return usage("--subscribers is to be 1 or more")
	}
	var got atomic.Int64
	want := int64(n * m.Msgs)
	all := make(chan struct{})
	for range n {
		nc, err := c.dial()
		if err != nil {
			return err
		}
		defer nc.Close()
		sub, err := nc.Subscribe(c.Args().First(), func(*nats.Msg) {
			if got.Add(1) == want {
				close(all)
			}
		})
		if err != nil {
			return err
		}
		sub.SetPendingLimits(-1, -1)
		if err := nc.Flush(); err != nil {
			return err
		}
	}
	body := make([]byte, m.Size)
	start := time.Now()
	err = c.spread(m, func(nc *nats.Conn, share int) error {
		for range share {
			if err := nc.Publish(c.Args().First(), body); err != nil {
				return err
			}
		}
		return nc.FlushTimeout(time.Minute)
	})
	if err != nil {
		return err
	}
	select {
	case <-all:
	case <-time.After(max(c.Duration("timeout"), 30*time.Second)):
		return fmt.Errorf("%d of %d messages came", got.Load(), want)
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
	m.Conditions = fmt.Sprintf("%d subscribers have got all; the rate is that of the publishers", n)
	m.finish(time.Since(start))
	return c.tellMeasured(m)
}

func benchRequest(c *call) error {
	m, err := c.plan("request and reply")
	if err != nil {
		return err
	}
	subject := c.Args().First()
	answerer, err := c.dial()
	if err != nil {
		return err
	}
	defer answerer.Close()
	if _, err := answerer.Subscribe(subject, func(q *nats.Msg) { q.Respond(q.Data) }); err != nil {
		return err
	}
	if err := answerer.Flush(); err != nil {
		return err
	}
	body := make([]byte, m.Size)
	var all latencies
	err = c.spread(m, func(nc *nats.Conn, share int) error {
		took := make([]time.Duration, 0, share)
		for range share {
			start := time.Now()
			if _, err := nc.RequestWithContext(c.ctx, subject, body); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		all.add(took)
		return nil
	})
	if err != nil {
		return err
	}
	m.Latency, m.Conditions = all.percentiles(), "the responder is in this process; each client waits for an answer before it asks again"
	return c.tellMeasured(m)
}

// streamOf describes the stream that stores a subject, as far as it matters for what is measured.
func (c *call) streamOf(name string) (string, error) {
	s, err := c.openStream(name)
	if err != nil {
		return "", err
	}
	cfg := s.CachedInfo().Config
	safe := "acknowledged as the server's sync_interval says: Godwit syncs before each unless that is set, nats-server every 2 minutes"
	if cfg.Storage == jetstream.MemoryStorage {
		safe = "nothing is on disk"
	}
	partitions := ""
	if p := cfg.Metadata["godwit.partitions"]; p != "" {
		partitions = ", " + p + " partitions"
	}
	return fmt.Sprintf("stream %s, %s storage, %d replicas%s; %s", name, strings.ToLower(cfg.Storage.String()), max(cfg.Replicas, 1), partitions, safe), nil
}

func benchStreamPub(c *call) error {
	m, err := c.plan("publish into a stream")
	if err != nil {
		return err
	}
	pending := c.Int("pending")
	if pending < 1 {
		return usage("--pending is to be 1 or more")
	}
	subject := c.Args().First()
	ctx, cancel := c.within()
	name, err := c.js.StreamNameBySubject(ctx, subject)
	cancel()
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return &hinted{fmt.Errorf("no stream stores %s", subject), "make one with: godwit stream add NAME --subjects " + subject}
	}
	if err != nil {
		return err
	}
	if m.Conditions, err = c.streamOf(name); err != nil {
		return err
	}
	body := make([]byte, m.Size)
	var all latencies
	err = c.spread(m, func(nc *nats.Conn, share int) error {
		js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(pending))
		if err != nil {
			return err
		}
		took := make([]time.Duration, 0, share)
		waiting := make(chan func() error, pending)
		failed := make(chan error, 1)
		go func() {
			var first error
			for f := range waiting {
				if err := f(); err != nil && first == nil {
					first = err
				}
			}
			failed <- first
		}()
		for range share {
			start := time.Now()
			ack, err := js.PublishAsync(subject, body)
			if err != nil {
				close(waiting)
				<-failed
				return err
			}
			waiting <- func() error {
				select {
				case <-ack.Ok():
					took = append(took, time.Since(start))
					return nil
				case err := <-ack.Err():
					return err
				case <-c.ctx.Done():
					return context.Cause(c.ctx)
				}
			}
			if pending == 1 { // one after the other
				select {
				case <-js.PublishAsyncComplete():
				case <-c.ctx.Done():
				}
			}
		}
		close(waiting)
		err = <-failed
		all.add(took)
		return err
	})
	if err != nil {
		return err
	}
	m.Latency = all.percentiles()
	m.Conditions += fmt.Sprintf("; at most %d acknowledgements are waited for by each client", pending)
	return c.tellMeasured(m)
}

func benchConsume(c *call) error {
	m, err := c.plan("consume")
	if err != nil {
		return err
	}
	name := c.Args().First()
	if m.Conditions, err = c.streamOf(name); err != nil {
		return err
	}
	s, err := c.openStream(name)
	if err != nil {
		return err
	}
	if have := s.CachedInfo().State.Msgs; have < uint64(m.Msgs) {
		return &hinted{fmt.Errorf("%s has %d messages only", name, have), fmt.Sprintf("ask for fewer with --msgs %d", have)}
	}
	cfg := jetstream.ConsumerConfig{Name: "bench-" + token(), InactiveThreshold: time.Minute, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1}
	if err := oneOf("ack", c.String("ack"), map[string]func(){"explicit": func() {}, "none": func() { cfg.AckPolicy = jetstream.AckNonePolicy }}); err != nil {
		return err
	}
	ctx, cancel := c.within()
	defer cancel()
	if _, err := c.js.CreateConsumer(ctx, name, cfg); err != nil {
		return err
	}
	defer c.js.DeleteConsumer(context.Background(), name, cfg.Name)
	var left atomic.Int64
	left.Store(int64(m.Msgs))
	err = c.spread(m, func(nc *nats.Conn, _ int) error {
		js, err := jetstream.New(nc)
		if err != nil {
			return err
		}
		con, err := js.Consumer(c.ctx, name, cfg.Name)
		if err != nil {
			return err
		}
		for left.Load() > 0 {
			batch, err := con.Fetch(max(c.Int("batch"), 1), jetstream.FetchMaxWait(time.Second))
			if err != nil {
				return err
			}
			for msg := range batch.Messages() {
				if cfg.AckPolicy == jetstream.AckExplicitPolicy {
					if err := msg.Ack(); err != nil {
						return err
					}
				}
				left.Add(-1)
			}
			if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
				return err
			}
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
		}
		return nc.FlushTimeout(time.Minute)
	})
	if err != nil {
		return err
	}
	m.Conditions += "; acknowledgement " + c.String("ack")
	return c.tellMeasured(m)
}
