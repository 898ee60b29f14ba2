package client

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

func (t *Tool) sub() *cli.Command {
	return t.leaf(&cli.Command{
		Name: "sub", Usage: "show messages as they come", ArgsUsage: "[SUBJECT...]",
		Flags: append(showFlags(),
			&cli.StringFlag{Name: "queue", Usage: "queue group to join"},
			&cli.StringFlag{Name: "stream", Usage: "read this stream, in its order, instead"},
			&cli.Uint64Flag{Name: "start-sequence", Usage: "with --stream: sequence to begin with; default is the first message"},
			&cli.BoolFlag{Name: "new", Usage: "with --stream: begin with new messages"},
		),
	}, func(c *call) error {
		subjects := c.Args().Slice()
		if c.String("stream") != "" {
			return c.follow(c.String("stream"), subjects)
		}
		if len(subjects) == 0 {
			return usage("sub takes subjects, or --stream NAME")
		}
		in := make(chan *nats.Msg, 1024)
		for _, s := range subjects {
			if _, err := c.nc.ChanQueueSubscribe(s, c.String("queue"), in); err != nil {
				return err
			}
		}
		if err := c.nc.FlushTimeout(c.Duration("timeout")); err != nil {
			return err
		}
		fmt.Fprintf(c.t.Err, "listening on %s\n", strings.Join(subjects, ", "))
		s := &shower{c: c}
		for !s.enough() {
			select {
			case m := <-in:
				s.show(m.Subject, m.Reply, m.Header, m.Data, "")
			case <-s.patience():
				return s.tooLate()
			case <-c.ctx.Done():
				return nil
			}
		}
		return nil
	})
}

// showFlags are those of commands that print messages.
func showFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "count", Usage: "end after so many messages; 0 is never"},
		&cli.DurationFlag{Name: "wait", Usage: "end with status 1 if none comes for so long"},
		&cli.BoolFlag{Name: "raw", Aliases: []string{"r"}, Usage: "print the body only"},
		&cli.BoolFlag{Name: "headers-only", Usage: "print no body"},
		&cli.BoolFlag{Name: "timestamp", Usage: "print when it came"},
	}
}

// shower prints messages.
type shower struct {
	c *call
	n int
}

func (s *shower) enough() bool {
	most := s.c.Int("count")
	return most > 0 && s.n >= most
}

// patience is a channel that says that nothing came for too long; nil without a bound.
func (s *shower) patience() <-chan time.Time {
	if d := s.c.Duration("wait"); d > 0 {
		return time.After(d)
	}
	return nil
}

func (s *shower) tooLate() error {
	return fmt.Errorf("nothing came for %s, after %d messages", s.c.Duration("wait"), s.n)
}

func (s *shower) show(subject, reply string, h nats.Header, body []byte, more string) {
	s.n++
	t := s.c.t
	if s.c.Bool("raw") {
		t.printf("%s\n", body)
		return
	}
	t.printf("[#%d] %s", s.n, subject)
	if reply != "" {
		t.printf(" reply %s", reply)
	}
	if more != "" {
		t.printf(" %s", more)
	}
	if s.c.Bool("timestamp") {
		t.printf(" at %s", when(time.Now()))
	}
	t.printf("\n")
	printHeaders(t, h)
	if !s.c.Bool("headers-only") {
		t.printf("%s\n", body)
	}
	t.printf("\n")
}

func printHeaders(t *Tool, h nats.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, v := range h[name] {
			t.printf("%s: %s\n", name, v)
		}
	}
	if len(h) > 0 {
		t.printf("\n")
	}
}

// follow reads a stream in its order.
func (c *call) follow(name string, filters []string) error {
	ctx, cancel := c.within()
	defer cancel()
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: filters}
	switch {
	case c.Bool("new"):
		cfg.DeliverPolicy = jetstream.DeliverNewPolicy
	case c.IsSet("start-sequence"):
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, c.Uint64("start-sequence")
	}
	con, err := c.js.OrderedConsumer(ctx, name, cfg)
	if err != nil {
		return err
	}
	in := make(chan jetstream.Msg, 1024)
	work, err := con.Consume(func(m jetstream.Msg) {
		select {
		case in <- m:
		case <-c.ctx.Done():
		}
	})
	if err != nil {
		return err
	}
	defer work.Stop()
	s := &shower{c: c}
	for !s.enough() {
		select {
		case m := <-in:
			more := ""
			if meta, err := m.Metadata(); err == nil {
				more = fmt.Sprintf("sequence %d of %s stored %s", meta.Sequence.Stream, meta.Stream, when(meta.Timestamp))
			}
			s.show(m.Subject(), "", m.Headers(), m.Data(), more)
		case <-s.patience():
			return s.tooLate()
		case <-c.ctx.Done():
			return nil
		}
	}
	return nil
}
