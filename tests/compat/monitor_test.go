package compat

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// hasKeys checks that a JSON object has all of these keys.
func hasKeys(t *testing.T, what string, body []byte, want ...string) {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, key := range want {
		if _, ok := object[key]; !ok {
			t.Errorf("%s has no %s: %.500s", what, key, body)
		}
	}
}

func TestVarz(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "server_name: watched\nmax_connections: 77"})
	nc := s.Connect(t)
	if _, err := nc.SubscribeSync("a"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := nc.Publish("a", []byte("12345")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	hasKeys(t, "/varz", s.Page(t, "/varz"), "server_id", "server_name", "version", "proto", "go", "host", "port", "max_connections",
		"ping_interval", "ping_max", "http_host", "http_port", "auth_timeout", "max_control_line", "max_payload", "max_pending",
		"write_deadline", "start", "now", "uptime", "mem", "cores", "gomaxprocs", "cpu", "connections", "total_connections",
		"routes", "remotes", "leafnodes", "in_msgs", "out_msgs", "in_bytes", "out_bytes", "slow_consumers", "subscriptions",
		"http_req_stats", "config_load_time")
	harness.Eventually(t, func() error {
		var varz struct {
			Name           string `json:"server_name"`
			MaxConnections int    `json:"max_connections"`
			MaxPayload     int    `json:"max_payload"`
			Connections    int
			InMsgs         int64 `json:"in_msgs"`
			OutMsgs        int64 `json:"out_msgs"`
			InBytes        int64 `json:"in_bytes"`
			OutBytes       int64 `json:"out_bytes"`
			Start          time.Time
			Mem            int64
		}
		s.Monitor(t, "/varz", &varz)
		if varz.Name != "watched" || varz.MaxConnections != 77 || varz.MaxPayload != 1<<20 || varz.Connections != 1 {
			return fmt.Errorf("got %+v", varz)
		}
		if varz.InMsgs != 3 || varz.OutMsgs != 3 || varz.InBytes != 15 || varz.OutBytes != 15 {
			return fmt.Errorf("traffic %+v", varz)
		}
		if varz.Mem < 1<<20 || time.Since(varz.Start) > time.Hour || time.Since(varz.Start) < 0 {
			return fmt.Errorf("mem %d, start %v", varz.Mem, varz.Start)
		}
		return nil
	})
}

type connz struct {
	NumConnections int `json:"num_connections"`
	Total          int
	Connections    []struct {
		CID           uint64   `json:"cid"`
		Name          string   `json:"name"`
		Lang          string   `json:"lang"`
		Reason        string   `json:"reason"`
		IP            string   `json:"ip"`
		Port          int      `json:"port"`
		InMsgs        int64    `json:"in_msgs"`
		OutMsgs       int64    `json:"out_msgs"`
		Subscriptions int      `json:"subscriptions"`
		SubsList      []string `json:"subscriptions_list"`
	}
}

func TestConnz(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	one, two := s.Connect(t, nats.Name("one")), s.Connect(t, nats.Name("two"))
	if _, err := one.SubscribeSync("a.*"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.QueueSubscribeSync("b", "q"); err != nil {
		t.Fatal(err)
	}
	if err := one.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := two.Publish("a.b", nil); err != nil {
		t.Fatal(err)
	}
	if err := two.Flush(); err != nil {
		t.Fatal(err)
	}
	cid, err := one.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		var page connz
		s.Monitor(t, "/connz?subs=1", &page)
		if page.NumConnections != 2 || page.Total != 2 {
			return fmt.Errorf("got %+v", page)
		}
		for _, c := range page.Connections {
			switch c.Name {
			case "one":
				if c.CID != cid || c.Subscriptions != 2 || len(c.SubsList) != 2 || c.OutMsgs != 1 || c.IP != "127.0.0.1" || c.Lang != "go" {
					return fmt.Errorf("one: %+v", c)
				}
			case "two":
				if c.InMsgs != 1 || c.Subscriptions != 0 {
					return fmt.Errorf("two: %+v", c)
				}
			default:
				return fmt.Errorf("unknown %+v", c)
			}
		}
		return nil
	})
	var page connz
	s.Monitor(t, fmt.Sprintf("/connz?cid=%d", cid), &page)
	if len(page.Connections) != 1 || page.Connections[0].Name != "one" {
		t.Errorf("by cid: %+v", page)
	}
	s.Monitor(t, "/connz?limit=1&sort=cid", &page)
	if len(page.Connections) != 1 || page.Total != 2 {
		t.Errorf("with a limit: %+v", page)
	}
	two.Close()
	harness.Eventually(t, func() error {
		var page connz
		s.Monitor(t, "/connz?state=closed", &page)
		for _, c := range page.Connections {
			if c.Name == "two" {
				return harness.Want("reason", c.Reason, "Client Closed")
			}
		}
		return fmt.Errorf("not among the closed: %+v", page)
	})
}

func TestSubsz(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	type subsz struct {
		Subscriptions int `json:"num_subscriptions"`
		List          []struct {
			Subject string
			QName   string `json:"qgroup"`
			SID     string
		} `json:"subscriptions_list"`
	}
	var before subsz
	s.Monitor(t, "/subsz", &before)
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	r.Send("SUB a.* 1\r\nSUB a.b q 2\r\nSUB c 3\r\nUNSUB 3\r\n")
	r.Flush()
	hasKeys(t, "/subsz", s.Page(t, "/subsz"), "num_subscriptions", "num_cache", "num_inserts", "num_removes", "num_matches", "cache_hit_rate", "max_fanout", "avg_fanout")
	var page subsz
	s.Monitor(t, "/subsz?subs=1&test=a.b", &page)
	if page.Subscriptions != before.Subscriptions+2 || len(page.List) != 2 {
		t.Errorf("before %+v, now %+v", before, page)
	}
	r.Close()
	harness.Eventually(t, func() error {
		s.Monitor(t, "/subsz", &page)
		return harness.Want("subscriptions", page.Subscriptions, before.Subscriptions)
	})
}

func TestHealthz(t *testing.T) {
	for _, streams := range []bool{false, true} {
		s := harness.Start(t, harness.Options{Streams: streams})
		var health struct{ Status string }
		s.Monitor(t, "/healthz", &health)
		if health.Status != "ok" {
			t.Errorf("streams %v: %+v", streams, health)
		}
	}
}
