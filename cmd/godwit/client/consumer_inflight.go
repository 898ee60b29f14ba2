package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"
)

// inflight is the answer of GODWIT.V1.CONSUMER.INFLIGHT.
type inflight struct {
	Total    int    `json:"total"`
	Next     uint64 `json:"next_seq"`
	Messages []struct {
		Seq        uint64     `json:"stream_seq"`
		Subject    string     `json:"subject"`
		State      string     `json:"state"`
		Partition  int        `json:"partition"`
		Deliveries int        `json:"deliveries"`
		Deadline   *time.Time `json:"deadline"`
		Stored     *time.Time `json:"stored"`
	} `json:"messages"`
}

func (t *Tool) consumerInflight() *cli.Command {
	return &cli.Command{Name: "inflight", Usage: "look at messages that were delivered and are not resolved, and act on one", Subcommands: []*cli.Command{
		t.inflightLs(),
		t.inflightAct("release", "let a message be delivered again at once; a dead one once more"),
		t.inflightAct("extend", "move the deadline of a message", &cli.DurationFlag{Name: "by", Value: time.Minute, Usage: "from now"}),
		t.inflightAct("terminate", "never deliver a message again", &cli.StringFlag{Name: "reason", Usage: "why, for the advisory"}, forceFlag()),
		t.inflightAct("ack", "acknowledge a message in place of the client", forceFlag()),
	}}
}

func (t *Tool) inflightLs() *cli.Command {
	return t.leaf(&cli.Command{Name: "ls", Aliases: []string{"list"}, Usage: "list them", ArgsUsage: "STREAM CONSUMER", Flags: []cli.Flag{jsonFlag(),
		&cli.Uint64Flag{Name: "from", Usage: "stream sequence to begin with"}, &cli.IntFlag{Name: "count", Value: 256, Usage: "most messages, up to 256"}}}, func(c *call) error {
		args := c.Args().Slice()
		var raw json.RawMessage
		if err := c.api("GODWIT.V1.CONSUMER.INFLIGHT."+args[0]+"."+args[1], map[string]any{"from_seq": c.Uint64("from"), "limit": c.Int("count")}, &raw); err != nil {
			return err
		}
		if c.Bool("json") {
			return c.t.printJSON(raw)
		}
		var list inflight
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		if list.Total == 0 {
			c.t.printf("nothing is in flight\n")
			return nil
		}
		var rows [][]string
		for _, m := range list.Messages {
			deadline := "-"
			if m.Deadline != nil {
				deadline = "in " + span(time.Until(*m.Deadline))
				if m.Deadline.Before(time.Now()) {
					deadline = "now"
				}
			}
			stored := "-"
			if m.Stored != nil {
				stored = when(*m.Stored)
			}
			rows = append(rows, []string{strconv.FormatUint(m.Seq, 10), m.Subject, strconv.Itoa(m.Partition), m.State, strconv.Itoa(m.Deliveries), deadline, stored})
		}
		c.t.table([]string{"sequence", "subject", "partition", "state", "deliveries", "deadline", "stored"}, rows)
		if list.Next > 0 {
			c.t.printf("%d in all; more follow: --from %d\n", list.Total, list.Next)
		}
		return nil
	})
}

func (t *Tool) inflightAct(name, what string, flags ...cli.Flag) *cli.Command {
	return t.leaf(&cli.Command{Name: name, Usage: what, ArgsUsage: "STREAM CONSUMER SEQUENCE", Flags: flags}, func(c *call) error {
		args := c.Args().Slice()
		seq, err := sequence(args[2])
		if err != nil {
			return err
		}
		body := map[string]any{"seq": seq, "action": name}
		switch name {
		case "extend":
			if c.Duration("by") <= 0 {
				return usage("--by is to be more than 0")
			}
			body["duration"] = c.Duration("by")
		case "terminate":
			body["reason"] = c.String("reason")
		case "ack":
			body["action"] = "acknowledge"
		}
		if name == "terminate" || name == "ack" {
			if err := c.confirm(fmt.Sprintf("Message %d will not be delivered by %s again. Go on?", seq, args[1])); err != nil {
				return err
			}
		}
		if err := c.api("GODWIT.V1.CONSUMER.ACT."+args[0]+"."+args[1], body, nil); err != nil {
			return err
		}
		c.t.printf("%s: message %d\n", name, seq)
		return nil
	})
}
