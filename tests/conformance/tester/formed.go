package tester

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// waitFormed waits until a new cluster or super-cluster is whole. Tests go to
// work the moment they get it: they count members, and place streams on all
// of them. A server that never gets there costs the time limits and a line in
// the log; the tests then show what is wrong.
func (svc *Service) waitFormed(inst *instance, clusters, perCluster int) {
	all := clusters * perCluster
	wait := func(what string, limit, pause time.Duration, ready func() bool) {
		for deadline := time.Now().Add(limit); !ready(); time.Sleep(pause) {
			if time.Now().After(deadline) {
				svc.logf("%s %s: %s not seen in %v", inst.kind, inst.short, what, limit)
				return
			}
		}
	}

	wait("all members in connect_urls", 5*time.Second, 20*time.Millisecond, func() bool {
		for _, s := range inst.servers {
			info, err := readInfo(s.env.ClientPort, s.tls)
			if err != nil || len(info.ConnectURLs) < perCluster {
				return false
			}
		}
		return true
	})
	if !inst.jetstream && clusters == 1 {
		return
	}

	if !inst.sysUser {
		time.Sleep(1500 * time.Millisecond) // nobody to ask
		return
	}
	nc, err := systemConnection(inst.servers[0])
	if err != nil {
		svc.logf("%s %s: no system connection: %v", inst.kind, inst.short, err)
		return
	}
	defer nc.Close()
	if clusters > 1 {
		wait("a ping reply from every server", 8*time.Second, 100*time.Millisecond, func() bool {
			return len(ask(nc, "$SYS.REQ.SERVER.PING", all)) == all
		})
	}
	if inst.jetstream {
		wait("a JetStream meta group with every peer", 8*time.Second, 50*time.Millisecond, func() bool {
			for _, reply := range ask(nc, "$SYS.REQ.SERVER.PING.JSZ", all) {
				if wholeMetaGroup(reply, all) {
					return true
				}
			}
			return false
		})
	}
}

func systemConnection(s *server) (*nats.Conn, error) {
	opts := []nats.Option{nats.UserInfo("system", "password"), nats.NoReconnect()}
	if s.tls != nil {
		opts = append(opts, nats.Secure(s.tls.dial))
		if s.tls.opts.HandshakeFirst {
			opts = append(opts, nats.TLSHandshakeFirst())
		}
	}
	return nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", s.env.ClientPort), opts...)
}

// ask sends a request to every server and collects up to want replies.
func ask(nc *nats.Conn, subject string, want int) [][]byte {
	sub, err := nc.SubscribeSync(nc.NewRespInbox())
	if err != nil {
		return nil
	}
	defer sub.Unsubscribe()
	if err := nc.PublishRequest(subject, sub.Subject, nil); err != nil {
		return nil
	}
	var replies [][]byte
	for len(replies) < want {
		msg, err := sub.NextMsg(500 * time.Millisecond)
		if err != nil {
			break
		}
		replies = append(replies, msg.Data)
	}
	return replies
}

// wholeMetaGroup tells whether a JSZ reply comes from a meta leader that sees
// every other server as a current, online peer.
func wholeMetaGroup(reply []byte, servers int) bool {
	var jsz struct {
		Server struct{ Name string }
		Data   struct {
			Meta struct {
				Leader   string
				Replicas []struct {
					Current bool
					Offline bool
				}
			} `json:"meta_cluster"`
		}
	}
	if json.Unmarshal(reply, &jsz) != nil {
		return false
	}
	meta := jsz.Data.Meta
	if meta.Leader == "" || meta.Leader != jsz.Server.Name || len(meta.Replicas) != servers-1 {
		return false
	}
	for _, peer := range meta.Replicas {
		if !peer.Current || peer.Offline {
			return false
		}
	}
	return true
}
