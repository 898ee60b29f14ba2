package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

// bodyMost bounds what is read from standard input.
const bodyMost = 64 << 20

func (t *Tool) pub() *cli.Command {
	return t.leaf(&cli.Command{
		Name: "pub", Usage: "publish messages", ArgsUsage: "SUBJECT [BODY]",
		Description: "Without BODY it is read from standard input. With --count, {{.Count}}, {{.Time}} and {{.Unix}} in BODY stand for the number of the\nmessage and the time.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Usage: "header, as NAME:VALUE; may be given several times"},
			&cli.StringFlag{Name: "reply", Usage: "reply subject"},
			&cli.IntFlag{Name: "count", Value: 1, Usage: "how many messages"},
			&cli.DurationFlag{Name: "sleep", Usage: "pause between them"},
			&cli.BoolFlag{Name: "jetstream", Aliases: []string{"J"}, Usage: "wait until a stream has acknowledged each"},
			&cli.StringFlag{Name: "id", Usage: "id for de-duplication"},
			&cli.DurationFlag{Name: "ttl", Usage: "time after which the stream removes the message, at least 1s"},
			&cli.StringFlag{Name: "expect-stream", Usage: "stream that must store it"},
			&cli.Uint64Flag{Name: "expect-last", Usage: "sequence that the stream's last message must have"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "say nothing"},
		},
	}, func(c *call) error {
		args := c.Args().Slice()
		if c.Int("count") < 1 {
			return usage("--count is to be 1 or more")
		}
		body, err := c.body(args[1:])
		if err != nil {
			return err
		}
		m := nats.NewMsg(args[0])
		m.Reply = c.String("reply")
		if m.Header, err = headers(c.StringSlice("header")); err != nil {
			return err
		}
		if id := c.String("id"); id != "" {
			m.Header.Set(jetstream.MsgIDHeader, id)
		}
		if c.IsSet("ttl") {
			m.Header.Set("Nats-TTL", c.Duration("ttl").String())
		}
		if s := c.String("expect-stream"); s != "" {
			m.Header.Set(jetstream.ExpectedStreamHeader, s)
		}
		if c.IsSet("expect-last") {
			m.Header.Set(jetstream.ExpectedLastSeqHeader, fmt.Sprint(c.Uint64("expect-last")))
		}
		for n := 1; n <= c.Int("count") && c.ctx.Err() == nil; n++ {
			if m.Data, err = fill(body, n); err != nil {
				return err
			}
			if err := c.send(m); err != nil {
				return err
			}
			if d := c.Duration("sleep"); d > 0 && n < c.Int("count") {
				select {
				case <-time.After(d):
				case <-c.ctx.Done():
				}
			}
		}
		return c.nc.FlushTimeout(c.Duration("timeout"))
	})
}

// body is what is published: the arguments, or standard input.
func (c *call) body(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	b, err := io.ReadAll(io.LimitReader(c.t.In, bodyMost+1))
	if err == nil && len(b) > bodyMost {
		err = errors.New("standard input has more than 64 MiB")
	}
	return string(b), err
}

func headers(list []string) (nats.Header, error) {
	h := nats.Header{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usage("--header %q is not NAME:VALUE", s)
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h, nil
}

// fill puts the number and the time into a body.
func fill(body string, n int) ([]byte, error) {
	if !strings.Contains(body, "{{") {
		return []byte(body), nil
	}
	t, err := template.New("body").Parse(body)
	if err != nil {
		return []byte(body), nil // it is no template, and looks like one
	}
	var b strings.Builder
	now := time.Now()
	err = t.Execute(&b, struct {
		Count int
		Time  string
		Unix  int64
	}{n, now.Format(time.RFC3339), now.Unix()})
	if err != nil {
		return nil, usage("the body: %v", err)
	}
	return []byte(b.String()), nil
}

// send publishes one message and says so.
func (c *call) send(m *nats.Msg) error {
	quiet := c.Bool("quiet")
	if !c.Bool("jetstream") {
		if err := c.nc.PublishMsg(m); err != nil {
			return err
		}
		if !quiet {
			c.t.printf("published %d bytes to %s\n", len(m.Data), m.Subject)
		}
		return nil
	}
	ctx, cancel := c.within()
	defer cancel()
	ack, err := c.js.PublishMsg(ctx, m)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return &hinted{fmt.Errorf("no stream stores %s", m.Subject), "make one with: godwit stream add NAME --subjects " + m.Subject}
	}
	if err != nil {
		return err
	}
	if !quiet {
		what := "stored"
		if ack.Duplicate {
			what = "stored before"
		}
		c.t.printf("%s in %s as %d\n", what, ack.Stream, ack.Sequence)
	}
	return nil
}
