package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

func (t *Tool) server() *cli.Command {
	return &cli.Command{Name: "server", Usage: "look at servers; most of it needs a user of the system account", Subcommands: []*cli.Command{
		t.leaf(&cli.Command{Name: "info", Usage: "describe the server", Flags: []cli.Flag{jsonFlag()}}, serverInfo),
		t.leaf(&cli.Command{Name: "ping", Usage: "find all servers, and how long they take", Flags: []cli.Flag{jsonFlag()}}, serverPing),
		t.leaf(&cli.Command{Name: "reload", Usage: "let the server read its configuration again"}, serverReload),
		{Name: "report", Usage: "what goes on in a server", Subcommands: []*cli.Command{
			t.leaf(&cli.Command{Name: "connections", Aliases: []string{"conns"}, Usage: "list connections", Flags: []cli.Flag{jsonFlag(),
				&cli.IntFlag{Name: "count", Value: 100, Usage: "most of them"}, &cli.StringFlag{Name: "sort", Value: "cid", Usage: "as /connz sorts them"}}}, reportConnections),
			t.leaf(&cli.Command{Name: "accounts", Usage: "list accounts", Flags: []cli.Flag{jsonFlag()}}, reportAccounts),
			t.leaf(&cli.Command{Name: "jetstream", Usage: "show what streams take", Flags: []cli.Flag{jsonFlag()}}, reportJetStream),
		}},
		{Name: "check", Usage: "for monitoring systems: one line, and exit status 0 for well, 1 for a warning, 2 for trouble, 3 for unknown", Subcommands: []*cli.Command{
			t.check("connection", "the server answers", nil, checkConnection,
				&cli.DurationFlag{Name: "warning", Value: 500 * time.Millisecond, Usage: "round trip"}, &cli.DurationFlag{Name: "critical", Value: time.Second, Usage: "round trip"}),
			t.check("jetstream", "the account's storage is not nearly full", nil, checkJetStream,
				&cli.IntFlag{Name: "warning", Value: 75, Usage: "percent in use"}, &cli.IntFlag{Name: "critical", Value: 90, Usage: "percent in use"}),
			t.check("stream", "a stream has messages, and fresh ones", []string{"STREAM"}, checkStream,
				&cli.Int64Flag{Name: "min-messages", Usage: "fewer are trouble"}, &cli.DurationFlag{Name: "max-age", Usage: "trouble if the last message is older"}),
			t.check("consumer", "a consumer is not far behind", []string{"STREAM", "CONSUMER"}, checkConsumer,
				&cli.Uint64Flag{Name: "warning", Value: 1000, Usage: "messages to be delivered"}, &cli.Uint64Flag{Name: "critical", Value: 10000, Usage: "messages to be delivered"},
				&cli.DurationFlag{Name: "max-lag", Usage: "trouble if the oldest of them is older"}, &cli.IntFlag{Name: "max-dead", Value: -1, Usage: "trouble with more dead messages; below 0 they do not matter"}),
		}},
	}}
}

// system asks the servers through the system account; all of them answer with wait, else the first.
func (c *call) system(subject string, body any, all bool) (answers []*nats.Msg, err error) {
	var b []byte
	if body != nil {
		if b, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	sub, err := c.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := c.nc.PublishRequest(subject, sub.Subject, b); err != nil {
		return nil, err
	}
	wait := c.Duration("timeout")
	for {
		m, err := sub.NextMsg(wait)
		switch {
		case errors.Is(err, nats.ErrNoResponders), err != nil && len(answers) == 0:
			return nil, &hinted{errors.New("no server answers"), "log in as a user of the system account"}
		case err != nil:
			return answers, nil
		}
		if answers = append(answers, m); !all {
			return answers, nil
		}
		wait = min(wait, 300*time.Millisecond) // after the first the others are not far
	}
}

// one asks the server that the tool is connected to.
func (c *call) one(what string, body, data any) error {
	return c.ask("$SYS.REQ.SERVER."+c.nc.ConnectedServerId()+"."+what, body, data)
}

// ask asks the first server that answers, and reads data.
func (c *call) ask(subject string, body, data any) error {
	list, err := c.system(subject, body, false)
	if err != nil {
		return err
	}
	var answer struct {
		Data  json.RawMessage `json:"data"`
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(list[0].Data, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return errors.New(answer.Error.Description)
	}
	if len(answer.Data) == 0 {
		return nil // there is nothing to say
	}
	return json.Unmarshal(answer.Data, data)
}

func serverInfo(c *call) error {
	var raw json.RawMessage
	if err := c.one("VARZ", nil, &raw); err != nil {
		return err
	}
	if c.Bool("json") {
		return c.t.printJSON(raw)
	}
	var v struct {
		Name, Version, Uptime    string
		ID                       string `json:"server_id"`
		ServerName               string `json:"server_name"`
		Host                     string
		Port, Connections, Cores int
		Mem                      uint64
		CPU                      float64
		InMsgs                   uint64 `json:"in_msgs"`
		OutMsgs                  uint64 `json:"out_msgs"`
		InBytes                  uint64 `json:"in_bytes"`
		OutBytes                 uint64 `json:"out_bytes"`
		Subscriptions            uint64
		SlowConsumers            uint64 `json:"slow_consumers"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	c.t.facts("Server "+v.ServerName, [2]string{"id", v.ID}, [2]string{"version", v.Version}, [2]string{"address", v.Host + ":" + strconv.Itoa(v.Port)}, [2]string{"up", v.Uptime},
		[2]string{"connections", count(uint64(v.Connections))}, [2]string{"subscriptions", count(v.Subscriptions)}, [2]string{"messages in", count(v.InMsgs) + ", " + size(v.InBytes)},
		[2]string{"messages out", count(v.OutMsgs) + ", " + size(v.OutBytes)}, [2]string{"slow consumers", count(v.SlowConsumers)}, [2]string{"memory", size(v.Mem)},
		[2]string{"processors", fmt.Sprintf("%d, %.0f %% in use", v.Cores, v.CPU)})
	return nil
}

func serverReload(c *call) error {
	var nothing json.RawMessage
	if err := c.one("RELOAD", nil, &nothing); err != nil {
		return err
	}
	c.t.printf("%s has read its configuration again\n", c.nc.ConnectedServerName())
	return nil
}

func serverPing(c *call) error {
	start := time.Now()
	list, err := c.system("$SYS.REQ.SERVER.PING", nil, true)
	if err != nil {
		return err
	}
	type answer struct {
		Server struct{ Name, ID, Host, Ver, Cluster string } `json:"server"`
	}
	rows, found := [][]string{}, []any{}
	for _, m := range list {
		var a answer
		if err := json.Unmarshal(m.Data, &a); err != nil {
			return err
		}
		found = append(found, a.Server)
		rows = append(rows, []string{a.Server.Name, a.Server.Cluster, a.Server.Ver, a.Server.Host})
	}
	if c.Bool("json") {
		return c.t.printJSON(found)
	}
	rtt, err := c.nc.RTT()
	if err != nil {
		return err
	}
	c.t.table([]string{"server", "cluster", "version", "host"}, rows)
	c.t.printf("\nround trip %s; all answered within %s\n", span(rtt), span(time.Since(start)))
	return nil
}

func reportConnections(c *call) error {
	var raw json.RawMessage
	if err := c.one("CONNZ", map[string]any{"limit": c.Int("count"), "sort": c.String("sort"), "auth": true}, &raw); err != nil {
		return err
	}
	if c.Bool("json") {
		return c.t.printJSON(raw)
	}
	var z struct {
		Total       int
		Connections []struct {
			CID           uint64
			Name, IP      string
			Port          int
			Account       string
			User          string `json:"authorized_user"`
			Subscriptions uint64
			InMsgs        uint64 `json:"in_msgs"`
			OutMsgs       uint64 `json:"out_msgs"`
			Pending       uint64 `json:"pending_bytes"`
			Uptime        string
		}
	}
	if err := json.Unmarshal(raw, &z); err != nil {
		return err
	}
	var rows [][]string
	for _, n := range z.Connections {
		rows = append(rows, []string{strconv.FormatUint(n.CID, 10), n.Name, n.Account, n.User, fmt.Sprintf("%s:%d", n.IP, n.Port), count(n.Subscriptions), count(n.InMsgs), count(n.OutMsgs), size(n.Pending), n.Uptime})
	}
	c.t.table([]string{"number", "name", "account", "user", "address", "subscriptions", "in", "out", "pending", "up"}, rows)
	c.t.printf("\n%d of %d\n", len(rows), z.Total)
	return nil
}

func reportAccounts(c *call) error {
	var raw json.RawMessage
	if err := c.ask("$SYS.REQ.ACCOUNT.PING.STATZ", map[string]any{"include_unused": true}, &raw); err != nil {
		return err
	}
	if c.Bool("json") {
		return c.t.printJSON(raw)
	}
	var z struct {
		Stats []struct {
			Account     string `json:"acc"`
			Conns       int
			Subs        uint64 `json:"num_subscriptions"`
			Sent        struct{ Msgs, Bytes uint64 }
			Received    struct{ Msgs, Bytes uint64 }
			SlowClients uint64 `json:"slow_consumers"`
		} `json:"account_statz"`
	}
	if err := json.Unmarshal(raw, &z); err != nil {
		return err
	}
	var rows [][]string
	for _, a := range z.Stats {
		rows = append(rows, []string{a.Account, strconv.Itoa(a.Conns), count(a.Subs), count(a.Received.Msgs), size(a.Received.Bytes), count(a.Sent.Msgs), size(a.Sent.Bytes), count(a.SlowClients)})
	}
	c.t.table([]string{"account", "connections", "subscriptions", "in", "bytes in", "out", "bytes out", "slow"}, rows)
	return nil
}

func reportJetStream(c *call) error {
	var raw json.RawMessage
	if err := c.one("JSZ", map[string]any{"accounts": true, "streams": true}, &raw); err != nil {
		return err
	}
	if c.Bool("json") {
		return c.t.printJSON(raw)
	}
	var z struct {
		Disabled bool
		Details  []struct {
			Name    string
			Storage uint64
			Memory  uint64
			Streams []struct {
				Name  string
				State struct {
					Messages, Bytes uint64
					Consumers       int `json:"consumer_count"`
				}
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := json.Unmarshal(raw, &z); err != nil {
		return err
	}
	if z.Disabled {
		c.t.printf("streams are off\n")
		return nil
	}
	var rows [][]string
	for _, a := range z.Details {
		for _, s := range a.Streams {
			rows = append(rows, []string{a.Name, s.Name, count(s.State.Messages), size(s.State.Bytes), strconv.Itoa(s.State.Consumers)})
		}
	}
	c.t.table([]string{"account", "stream", "messages", "size", "consumers"}, rows)
	return nil
}

// Exit statuses of checks.
const (
	checkOK = iota
	checkWarning
	checkCritical
	checkUnknown
)

// result is what a check came to.
type result struct {
	status int
	text   string
	perf   map[string]string // figures, with units
}

func (r *result) worse(status int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if r.text != "" {
		text = r.text + "; " + text
	}
	r.status, r.text = max(r.status, status), text
}

// check makes a command for monitoring systems. What goes wrong on the way is status 3, but that the server does not answer is trouble.
func (t *Tool) check(name, what string, args []string, do func(c *call, r *result) error, flags ...cli.Flag) *cli.Command {
	leaf := t.leaf(&cli.Command{Name: name, Usage: what, ArgsUsage: strings.Join(args, " "), Flags: append(flags, &cli.StringFlag{Name: "format", Value: "nagios", Usage: "nagios, json or prometheus"})},
		func(c *call) error {
			r := &result{perf: map[string]string{}}
			err := do(c, r)
			switch {
			case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders):
				r.status, r.text = checkCritical, err.Error()
			case err != nil:
				r.status, r.text = checkUnknown, err.Error()
			}
			return c.tell(name, r)
		})
	inner := leaf.Action
	leaf.Action = func(x *cli.Context) error {
		switch x.String("format") {
		case "nagios", "json", "prometheus":
		default:
			return usage("--format %q: want nagios, json or prometheus", x.String("format"))
		}
		err := inner(x)
		var bad *usageError
		if err == nil || errors.As(err, &bad) {
			return err
		}
		c := &call{Context: x, t: t}
		return c.tell(name, &result{status: checkCritical, text: err.Error()})
	}
	return leaf
}

// tell prints a result in the format asked for.
func (c *call) tell(name string, r *result) error {
	c.t.Status = r.status
	word := [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[r.status]
	var names []string
	for n := range r.perf {
		names = append(names, n)
	}
	names = sorted(names)
	switch c.String("format") {
	case "json":
		return c.t.printJSON(map[string]any{"check": name, "status": word, "text": r.text, "figures": r.perf})
	case "prometheus":
		c.t.printf("# HELP godwit_check_status Result of the check: 0 well, 1 warning, 2 trouble, 3 unknown.\n# TYPE godwit_check_status gauge\ngodwit_check_status{check=%q,item=%q} %d\n",
			name, strings.Join(c.Args().Slice(), "/"), r.status)
	default:
		var perf []string
		for _, n := range names {
			perf = append(perf, n+"="+r.perf[n])
		}
		c.t.printf("%s %s: %s", strings.ToUpper(name), word, strings.ReplaceAll(r.text, "\n", " "))
		if len(perf) > 0 {
			c.t.printf(" | %s", strings.Join(perf, " "))
		}
		c.t.printf("\n")
	}
	return nil
}

func checkConnection(c *call, r *result) error {
	rtt, err := c.nc.RTT()
	if err != nil {
		return err
	}
	r.perf["rtt"] = fmt.Sprintf("%.6fs", rtt.Seconds())
	switch {
	case rtt > c.Duration("critical"):
		r.worse(checkCritical, "round trip %s", span(rtt))
	case rtt > c.Duration("warning"):
		r.worse(checkWarning, "round trip %s", span(rtt))
	default:
		r.text = "round trip " + span(rtt)
	}
	return nil
}

func checkJetStream(c *call, r *result) error {
	ctx, cancel := c.within()
	defer cancel()
	a, err := c.js.AccountInfo(ctx)
	if err != nil {
		return err
	}
	r.text = fmt.Sprintf("%d streams, %d consumers", a.Streams, a.Consumers)
	r.perf["streams"], r.perf["consumers"] = strconv.Itoa(a.Streams), strconv.Itoa(a.Consumers)
	for name, part := range map[string][2]int64{"memory": {int64(a.Memory), a.Limits.MaxMemory}, "storage": {int64(a.Store), a.Limits.MaxStore}} {
		r.perf[name] = fmt.Sprintf("%dB", part[0])
		if part[1] <= 0 {
			continue
		}
		percent := int(float64(part[0]) / float64(part[1]) * 100)
		r.perf[name+"_pct"] = fmt.Sprintf("%d%%", percent)
		switch {
		case percent >= c.Int("critical"):
			r.worse(checkCritical, "%s is %d %% full", name, percent)
		case percent >= c.Int("warning"):
			r.worse(checkWarning, "%s is %d %% full", name, percent)
		}
	}
	return nil
}

func checkStream(c *call, r *result) error {
	s, err := c.openStream(c.Args().First())
	if err != nil {
		return err
	}
	st := s.CachedInfo().State
	old := time.Since(st.LastTime)
	r.text = fmt.Sprintf("%s messages", count(st.Msgs))
	r.perf["messages"], r.perf["bytes"] = fmt.Sprint(st.Msgs), fmt.Sprintf("%dB", st.Bytes)
	if n := c.Int64("min-messages"); n > 0 && st.Msgs < uint64(n) {
		r.worse(checkCritical, "fewer than %d", n)
	}
	if d := c.Duration("max-age"); d > 0 && (st.LastTime.IsZero() || old > d) {
		r.worse(checkCritical, "the last one is older than %s", d)
	}
	return nil
}

func checkConsumer(c *call, r *result) error {
	var l consumerLag
	if err := c.api("GODWIT.V1.CONSUMER.LAG."+c.Args().Get(0)+"."+c.Args().Get(1), nil, &l); err != nil {
		return err
	}
	r.text = fmt.Sprintf("%s messages to be delivered, %d unacknowledged", count(l.Messages), l.Unacked)
	r.perf["pending"], r.perf["unacknowledged"], r.perf["dead"] = fmt.Sprint(l.Messages), strconv.Itoa(l.Unacked), strconv.Itoa(l.Dead)
	switch {
	case l.Messages >= c.Uint64("critical"):
		r.worse(checkCritical, "that is %d or more", c.Uint64("critical"))
	case l.Messages >= c.Uint64("warning"):
		r.worse(checkWarning, "that is %d or more", c.Uint64("warning"))
	}
	if l.Next != nil {
		r.perf["lag"] = fmt.Sprintf("%.3fs", l.Next.Age)
		if d := c.Duration("max-lag"); d > 0 && l.Next.Age > d.Seconds() {
			r.worse(checkCritical, "the oldest has waited %s", seconds(l.Next.Age))
		}
	}
	if n := c.Int("max-dead"); n >= 0 && l.Dead > n {
		r.worse(checkCritical, "%d are dead", l.Dead)
	}
	return nil
}
