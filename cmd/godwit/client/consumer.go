package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

func (t *Tool) consumer() *cli.Command {
	return &cli.Command{Name: "consumer", Usage: "manage consumers", Subcommands: []*cli.Command{
		t.consumerAdd(), t.consumerEdit(), t.consumerLs(), t.consumerInfo(), t.consumerNext(), t.consumerSub(), t.consumerPause(), t.consumerResume(), t.consumerReset(),
		t.consumerRm(), t.consumerInflight(),
	}}
}

func consumerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "description", Usage: "what the consumer is for"},
		&cli.StringSliceFlag{Name: "filter", Usage: "subjects to deliver; with commas, or given several times"},
		&cli.StringFlag{Name: "deliver", Usage: "where to begin: all, new, last, last-per-subject, a sequence, or a time ago such as 1h"},
		&cli.StringFlag{Name: "ack", Usage: "explicit, all or none"},
		&cli.DurationFlag{Name: "ack-wait", Usage: "time after which an unacknowledged message is delivered again"},
		&cli.IntFlag{Name: "max-deliver", Usage: "most deliveries of a message; -1 is no limit"},
		&cli.IntFlag{Name: "max-pending", Usage: "most messages that are not acknowledged"},
		&cli.IntFlag{Name: "max-waiting", Usage: "most requests that wait"},
		&cli.StringSliceFlag{Name: "backoff", Usage: "times between deliveries, such as 1s,5s,1m"},
		&cli.DurationFlag{Name: "inactive", Usage: "time after which the consumer goes if nobody uses it"},
		&cli.BoolFlag{Name: "headers-only", Usage: "deliver no bodies"},
		&cli.StringSliceFlag{Name: "metadata", Usage: "NAME=VALUE; may be given several times"},
	}
}

// configureConsumer puts flags into a configuration.
func (c *call) configureConsumer(cfg *jetstream.ConsumerConfig) error {
	if c.IsSet("description") {
		cfg.Description = c.String("description")
	}
	if list := c.StringSlice("filter"); len(list) == 1 {
		cfg.FilterSubject, cfg.FilterSubjects = list[0], nil
	} else if len(list) > 1 {
		cfg.FilterSubject, cfg.FilterSubjects = "", list
	}
	if v := c.String("deliver"); v != "" {
		if err := setDeliver(cfg, v); err != nil {
			return err
		}
	}
	if v := c.String("ack"); v != "" {
		err := oneOf("ack", v, map[string]func(){"explicit": func() { cfg.AckPolicy = jetstream.AckExplicitPolicy },
			"all": func() { cfg.AckPolicy = jetstream.AckAllPolicy }, "none": func() { cfg.AckPolicy = jetstream.AckNonePolicy }})
		if err != nil {
			return err
		}
	}
	for name, set := range map[string]func(){
		"ack-wait":     func() { cfg.AckWait = c.Duration("ack-wait") },
		"max-deliver":  func() { cfg.MaxDeliver = c.Int("max-deliver") },
		"max-pending":  func() { cfg.MaxAckPending = c.Int("max-pending") },
		"max-waiting":  func() { cfg.MaxWaiting = c.Int("max-waiting") },
		"inactive":     func() { cfg.InactiveThreshold = c.Duration("inactive") },
		"headers-only": func() { cfg.HeadersOnly = c.Bool("headers-only") },
	} {
		if c.IsSet(name) {
			set()
		}
	}
	if list := c.StringSlice("backoff"); len(list) > 0 {
		cfg.BackOff = nil
		for _, v := range list {
			d, err := time.ParseDuration(v)
			if err != nil {
				return usage("--backoff: %v", err)
			}
			cfg.BackOff = append(cfg.BackOff, d)
		}
	}
	for _, m := range c.StringSlice("metadata") {
		name, value, ok := strings.Cut(m, "=")
		if !ok || name == "" {
			return usage("--metadata %q is not NAME=VALUE", m)
		}
		if cfg.Metadata == nil {
			cfg.Metadata = map[string]string{}
		}
		cfg.Metadata[name] = value
	}
	return nil
}

func setDeliver(cfg *jetstream.ConsumerConfig, v string) error {
	policies := map[string]jetstream.DeliverPolicy{"all": jetstream.DeliverAllPolicy, "new": jetstream.DeliverNewPolicy, "last": jetstream.DeliverLastPolicy,
		"last-per-subject": jetstream.DeliverLastPerSubjectPolicy}
	if p, ok := policies[v]; ok {
		cfg.DeliverPolicy = p
		return nil
	}
	if n, err := strconv.ParseUint(v, 10, 64); err == nil && n > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, n
		return nil
	}
	if d, err := time.ParseDuration(v); err == nil && d > 0 {
		at := time.Now().Add(-d)
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &at
		return nil
	}
	return usage("--deliver %q: want all, new, last, last-per-subject, a sequence, or a time ago such as 1h", v)
}

func (t *Tool) consumerAdd() *cli.Command {
	return t.leaf(&cli.Command{Name: "add", Usage: "make a pull consumer", ArgsUsage: "STREAM NAME", Flags: append(consumerFlags(), jsonFlag(),
		&cli.BoolFlag{Name: "ephemeral", Usage: "it goes when nobody uses it"}, &cli.BoolFlag{Name: "defaults", Hidden: true})}, func(c *call) error {
		args := c.Args().Slice()
		cfg := jetstream.ConsumerConfig{Durable: args[1], AckPolicy: jetstream.AckExplicitPolicy}
		if c.Bool("ephemeral") {
			cfg.Name, cfg.Durable = args[1], ""
		}
		if err := c.configureConsumer(&cfg); err != nil {
			return err
		}
		ctx, cancel := c.within()
		defer cancel()
		if _, err := c.js.CreateConsumer(ctx, args[0], cfg); err != nil {
			return err
		}
		return c.showConsumer(args[0], args[1])
	})
}

func (t *Tool) consumerEdit() *cli.Command {
	return t.leaf(&cli.Command{Name: "edit", Usage: "change a consumer", ArgsUsage: "STREAM NAME", Flags: append(consumerFlags(), jsonFlag(), forceFlag())}, func(c *call) error {
		args := c.Args().Slice()
		old, err := c.consumerConfig(args[0], args[1])
		if err != nil {
			return err
		}
		cfg := old
		if err := c.configureConsumer(&cfg); err != nil {
			return err
		}
		changes, err := differences(old, cfg)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			c.t.printf("nothing differs\n")
			return nil
		}
		if !c.Bool("json") {
			for _, line := range changes {
				c.t.printf("  %s\n", line)
			}
		}
		if err := c.confirm("Change the consumer " + args[1] + " like that?"); err != nil {
			return err
		}
		ctx, cancel := c.within()
		defer cancel()
		if _, err := c.js.UpdateConsumer(ctx, args[0], cfg); err != nil {
			return err
		}
		return c.showConsumer(args[0], args[1])
	})
}

func (c *call) consumerConfig(stream, name string) (cfg jetstream.ConsumerConfig, err error) {
	var info jetstream.ConsumerInfo
	err = c.api("CONSUMER.INFO."+stream+"."+name, nil, &info)
	return info.Config, err
}

// consumerLag is the answer of GODWIT.V1.CONSUMER.LAG.
type consumerLag struct {
	Name     string `json:"name"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Unacked  int    `json:"unacknowledged"`
	Dead     int    `json:"dead"`
	Next     *lagOf `json:"oldest_undelivered"`
	Oldest   *lagOf `json:"oldest_unacknowledged"`
}

type lagOf struct {
	Seq uint64  `json:"seq"`
	Age float64 `json:"age_seconds"`
}

func (l *lagOf) String() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("%s, sequence %d", seconds(l.Age), l.Seq)
}

// lag asks how far a consumer is behind; a server that does not know tells nothing.
func (c *call) lag(stream, name string) (l consumerLag) {
	_ = c.api("GODWIT.V1.CONSUMER.LAG."+stream+"."+name, nil, &l)
	return l
}

func ackName(p jetstream.AckPolicy) string {
	return strings.TrimPrefix(strings.ToLower(p.String()), "ack")
}

func (c *call) showConsumer(stream, name string) error {
	if c.Bool("json") {
		var raw json.RawMessage
		if err := c.api("CONSUMER.INFO."+stream+"."+name, nil, &raw); err != nil {
			return err
		}
		return c.t.printJSON(raw)
	}
	var i jetstream.ConsumerInfo
	if err := c.api("CONSUMER.INFO."+stream+"."+name, nil, &i); err != nil {
		return err
	}
	l := c.lag(stream, name)
	cfg := &i.Config
	filters := strings.Join(cfg.FilterSubjects, ", ")
	if cfg.FilterSubject != "" {
		filters = cfg.FilterSubject
	}
	kind := "pull"
	if cfg.DeliverSubject != "" {
		kind = "push to " + cfg.DeliverSubject
	}
	paused := ""
	if i.Paused {
		paused = "for " + span(i.PauseRemaining)
	}
	dead := ""
	if l.Dead > 0 {
		dead = fmt.Sprintf("%d: they were delivered as often as allowed", l.Dead)
	}
	c.t.facts(fmt.Sprintf("Consumer %s of %s", i.Name, i.Stream),
		[2]string{"description", cfg.Description}, [2]string{"kind", kind}, [2]string{"made", when(i.Created)}, [2]string{"filter", filters},
		[2]string{"acknowledgement", ackName(cfg.AckPolicy)}, [2]string{"ack wait", span(cfg.AckWait)}, [2]string{"most deliveries", limit(int64(cfg.MaxDeliver), count)},
		[2]string{"most unacknowledged", limit(int64(cfg.MaxAckPending), count)}, [2]string{"paused", paused},
		[2]string{"delivered up to", count(i.Delivered.Stream)}, [2]string{"acknowledged up to", count(i.AckFloor.Stream)},
		[2]string{"to be delivered", count(i.NumPending)}, [2]string{"oldest of these", l.Next.String()}, [2]string{"unacknowledged", count(uint64(i.NumAckPending))},
		[2]string{"oldest of those", l.Oldest.String()}, [2]string{"dead", dead}, [2]string{"redelivered", count(uint64(i.NumRedelivered))}, [2]string{"waiting requests", count(uint64(i.NumWaiting))})
	return nil
}

func (t *Tool) consumerInfo() *cli.Command {
	return t.leaf(&cli.Command{Name: "info", Usage: "describe a consumer", ArgsUsage: "STREAM NAME", Flags: []cli.Flag{jsonFlag()}}, func(c *call) error {
		args := c.Args().Slice()
		return c.showConsumer(args[0], args[1])
	})
}

func (t *Tool) consumerLs() *cli.Command {
	return t.leaf(&cli.Command{Name: "ls", Aliases: []string{"list", "report"}, Usage: "list the consumers of a stream", ArgsUsage: "STREAM", Flags: []cli.Flag{jsonFlag()}}, func(c *call) error {
		args := c.Args().Slice()
		s, err := c.openStream(args[0])
		if err != nil {
			return err
		}
		ctx, cancel := c.within()
		defer cancel()
		list := s.ListConsumers(ctx)
		found := []*jetstream.ConsumerInfo{}
		for i := range list.Info() {
			found = append(found, i)
		}
		if err := list.Err(); err != nil {
			return err
		}
		if c.Bool("json") {
			return c.t.printJSON(found)
		}
		if len(found) == 0 {
			c.t.printf("%s has no consumers; make one with: godwit consumer add %s NAME\n", args[0], args[0])
			return nil
		}
		var rows [][]string
		for _, i := range found {
			l := c.lag(args[0], i.Name)
			rows = append(rows, []string{i.Name, ackName(i.Config.AckPolicy), count(i.NumPending), age(l.Next), strconv.Itoa(i.NumAckPending), age(l.Oldest), strconv.Itoa(l.Dead), strconv.Itoa(i.NumRedelivered)})
		}
		c.t.table([]string{"consumer", "ack", "to be delivered", "for", "unacknowledged", "for", "dead", "redelivered"}, rows)
		return nil
	})
}

func age(l *lagOf) string {
	if l == nil {
		return "-"
	}
	return seconds(l.Age)
}

func (t *Tool) consumerNext() *cli.Command {
	return t.leaf(&cli.Command{Name: "next", Usage: "get messages of a pull consumer", ArgsUsage: "STREAM NAME", Flags: []cli.Flag{
		&cli.IntFlag{Name: "count", Value: 1, Usage: "how many"}, &cli.BoolFlag{Name: "no-ack", Usage: "do not acknowledge them"},
		&cli.BoolFlag{Name: "nak", Usage: "refuse them, so that they come again"}, &cli.BoolFlag{Name: "term", Usage: "refuse them for ever"},
		&cli.BoolFlag{Name: "raw", Aliases: []string{"r"}, Usage: "print the bodies only"}}}, func(c *call) error {
		args := c.Args().Slice()
		if c.Int("count") < 1 {
			return usage("--count is to be 1 or more")
		}
		ctx, cancel := c.within()
		con, err := c.js.Consumer(ctx, args[0], args[1])
		cancel()
		if err != nil {
			return err
		}
		for n := 0; n < c.Int("count"); n++ {
			m, err := con.Next(jetstream.FetchMaxWait(c.Duration("timeout")))
			if err != nil {
				return fmt.Errorf("%d messages came: %w", n, err)
			}
			if err := c.handle(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// handle prints a message and says what to do with it.
func (c *call) handle(m jetstream.Msg) error {
	if c.Bool("raw") {
		c.t.printf("%s\n", m.Data())
	} else {
		if meta, err := m.Metadata(); err == nil {
			c.t.printf("#%d %s at %s, delivery %d, %d more\n", meta.Sequence.Stream, m.Subject(), when(meta.Timestamp), meta.NumDelivered, meta.NumPending)
		}
		printHeaders(c.t, m.Headers())
		c.t.printf("%s\n\n", m.Data())
	}
	ctx, cancel := c.within()
	defer cancel()
	switch {
	case c.Bool("no-ack"):
		return nil
	case c.Bool("nak"):
		return m.Nak()
	case c.Bool("term"):
		return m.Term()
	}
	return m.DoubleAck(ctx)
}

func (t *Tool) consumerSub() *cli.Command {
	return t.leaf(&cli.Command{Name: "sub", Usage: "get messages of a pull consumer as they come", ArgsUsage: "STREAM NAME", Flags: []cli.Flag{
		&cli.IntFlag{Name: "count", Usage: "end after so many messages; 0 is never"}, &cli.BoolFlag{Name: "no-ack", Usage: "do not acknowledge them"},
		&cli.BoolFlag{Name: "raw", Aliases: []string{"r"}, Usage: "print the bodies only"}}}, func(c *call) error {
		args := c.Args().Slice()
		ctx, cancel := c.within()
		con, err := c.js.Consumer(ctx, args[0], args[1])
		cancel()
		if err != nil {
			return err
		}
		in, err := con.Messages(jetstream.PullMaxMessages(64))
		if err != nil {
			return err
		}
		defer in.Stop()
		go func() { <-c.ctx.Done(); in.Stop() }()
		for n := 0; c.Int("count") == 0 || n < c.Int("count"); n++ {
			m, err := in.Next()
			if err != nil {
				if c.ctx.Err() != nil {
					return nil
				}
				return err
			}
			if err := c.handle(m); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *Tool) consumerPause() *cli.Command {
	return t.leaf(&cli.Command{Name: "pause", Usage: "deliver nothing for a while", ArgsUsage: "STREAM NAME DURATION"}, func(c *call) error {
		args := c.Args().Slice()
		d, err := time.ParseDuration(args[2])
		if err != nil || d <= 0 {
			return usage("%q is no duration, such as 10m", args[2])
		}
		ctx, cancel := c.within()
		defer cancel()
		until := time.Now().Add(d)
		if _, err := c.js.PauseConsumer(ctx, args[0], args[1], until); err != nil {
			return err
		}
		c.t.printf("%s is paused until %s\n", args[1], when(until))
		return nil
	})
}

func (t *Tool) consumerResume() *cli.Command {
	return t.leaf(&cli.Command{Name: "resume", Usage: "end a pause", ArgsUsage: "STREAM NAME"}, func(c *call) error {
		args := c.Args().Slice()
		ctx, cancel := c.within()
		defer cancel()
		if _, err := c.js.ResumeConsumer(ctx, args[0], args[1]); err != nil {
			return err
		}
		c.t.printf("%s delivers again\n", args[1])
		return nil
	})
}

func (t *Tool) consumerReset() *cli.Command {
	return t.leaf(&cli.Command{Name: "reset", Usage: "deliver again from a sequence on, or from where everything is acknowledged", ArgsUsage: "STREAM NAME [SEQUENCE]", Flags: []cli.Flag{forceFlag()}}, func(c *call) error {
		args := c.Args().Slice()
		body := map[string]any{}
		if len(args) == 3 {
			seq, err := sequence(args[2])
			if err != nil {
				return err
			}
			body["seq"] = seq
		}
		if err := c.confirm("Reset the consumer " + args[1] + "? Messages may come again."); err != nil {
			return err
		}
		if err := c.api("CONSUMER.RESET."+args[0]+"."+args[1], body, nil); err != nil {
			return err
		}
		return c.showConsumer(args[0], args[1])
	})
}

func (t *Tool) consumerRm() *cli.Command {
	return t.leaf(&cli.Command{Name: "rm", Usage: "delete a consumer", ArgsUsage: "STREAM NAME", Flags: []cli.Flag{forceFlag()}}, func(c *call) error {
		args := c.Args().Slice()
		if _, err := c.consumerConfig(args[0], args[1]); err != nil {
			return err
		}
		if err := c.confirm(fmt.Sprintf("Delete the consumer %s of %s?", args[1], args[0])); err != nil {
			return err
		}
		ctx, cancel := c.within()
		defer cancel()
		if err := c.js.DeleteConsumer(ctx, args[0], args[1]); err != nil {
			return err
		}
		c.t.printf("consumer %s is deleted\n", args[1])
		return nil
	})
}
