package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/urfave/cli/v2"
)

func (t *Tool) request() *cli.Command {
	return t.leaf(&cli.Command{
		Name: "request", Aliases: []string{"req"}, Usage: "ask and show the answers", ArgsUsage: "SUBJECT [BODY]",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Usage: "header, as NAME:VALUE; may be given several times"},
			&cli.IntFlag{Name: "replies", Value: 1, Usage: "end after so many answers; 0 is all that come within --timeout"},
			&cli.BoolFlag{Name: "raw", Aliases: []string{"r"}, Usage: "print the bodies only"},
		},
	}, func(c *call) error {
		args := c.Args().Slice()
		m := nats.NewMsg(args[0])
		var err error
		if m.Header, err = headers(c.StringSlice("header")); err != nil {
			return err
		}
		body, err := c.body(args[1:])
		if err != nil {
			return err
		}
		m.Data, m.Reply = []byte(body), nats.NewInbox()
		sub, err := c.nc.SubscribeSync(m.Reply)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := c.nc.PublishMsg(m); err != nil {
			return err
		}
		want := c.Int("replies")
		for n := 0; n < want || want == 0; n++ {
			ctx, cancel := c.within()
			answer, err := sub.NextMsgWithContext(ctx)
			cancel()
			switch {
			case errors.Is(err, nats.ErrNoResponders):
				return err
			case err != nil && n > 0 && want == 0:
				return nil
			case err != nil:
				return fmt.Errorf("%d answers came: %w", n, err)
			}
			if c.Bool("raw") {
				c.t.printf("%s\n", answer.Data)
				continue
			}
			c.t.printf("answer after %s\n", span(time.Since(start)))
			printHeaders(c.t, answer.Header)
			c.t.printf("%s\n\n", answer.Data)
		}
		return nil
	})
}

func (t *Tool) reply() *cli.Command {
	return t.leaf(&cli.Command{
		Name: "reply", Usage: "answer requests", ArgsUsage: "SUBJECT [BODY]",
		Description: "Each request is answered with BODY, in which {{.Count}} and {{.Request}} stand for its number and its body; with --echo with itself.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "echo", Usage: "answer with what was asked"},
			&cli.StringFlag{Name: "queue", Value: "godwit-reply", Usage: "queue group to join, so that several share the work"},
			&cli.IntFlag{Name: "count", Usage: "end after so many requests; 0 is never"},
		},
	}, func(c *call) error {
		args := c.Args().Slice()
		if (len(args) == 2) == c.Bool("echo") {
			return usage("reply needs a body or --echo")
		}
		in := make(chan *nats.Msg, 1024)
		if _, err := c.nc.ChanQueueSubscribe(args[0], c.String("queue"), in); err != nil {
			return err
		}
		if err := c.nc.FlushTimeout(c.Duration("timeout")); err != nil {
			return err
		}
		fmt.Fprintf(c.t.Err, "answering on %s\n", args[0])
		for n := 1; c.Int("count") == 0 || n <= c.Int("count"); n++ {
			select {
			case m := <-in:
				body := m.Data
				if !c.Bool("echo") {
					body = []byte(strings.NewReplacer("{{.Count}}", fmt.Sprint(n), "{{.Request}}", string(m.Data)).Replace(args[1]))
				}
				c.t.printf("[#%d] %s: %d bytes\n", n, m.Subject, len(m.Data))
				if m.Reply == "" {
					continue
				}
				if err := m.Respond(body); err != nil {
					return err
				}
			case <-c.ctx.Done():
				return nil
			}
		}
		return c.nc.FlushTimeout(c.Duration("timeout"))
	})
}
