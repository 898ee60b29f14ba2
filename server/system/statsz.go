package system

import (
	"cmp"
	"slices"
	"time"

	"godwit/server/monitor"
)

// serverStats is the answer to STATSZ, and the event of the same name.
type serverStats struct {
	Server *ServerInfo `json:"server"`
	Stats  statsz      `json:"statsz"`
}

// statsz are the figures by which tools compare servers.
type statsz struct {
	Start                time.Time              `json:"start"`
	Mem                  int64                  `json:"mem"`
	Cores                int                    `json:"cores"`
	CPU                  float64                `json:"cpu"`
	Connections          int                    `json:"connections"`
	TotalConnections     uint64                 `json:"total_connections"`
	ActiveAccounts       int                    `json:"active_accounts"` // with connections
	Subscriptions        uint32                 `json:"subscriptions"`
	Sent                 monitor.DataStats      `json:"sent"`
	SentToClients        monitor.DataStats      `json:"sent_to_clients"`
	Received             monitor.DataStats      `json:"received"`
	ReceivedFromClients  monitor.DataStats      `json:"received_from_clients"`
	SlowConsumers        int64                  `json:"slow_consumers"`
	SlowConsumerStats    *monitor.KindCounts    `json:"slow_consumer_stats,omitempty"`
	StaleConnections     int64                  `json:"stale_connections,omitempty"`
	StaleConnectionStats *monitor.KindCounts    `json:"stale_connection_stats,omitempty"`
	StalledClients       int64                  `json:"stalled_clients,omitempty"`
	Routes               []routeStats           `json:"routes,omitempty"`
	Gateways             []gatewayStats         `json:"gateways,omitempty"`
	ActiveServers        int                    `json:"active_servers,omitempty"`
	JetStream            *monitor.JetStreamVarz `json:"jetstream,omitempty"`
	MemLimit             int64                  `json:"gomemlimit,omitempty"`
	MaxProcs             int                    `json:"gomaxprocs,omitempty"`
}

// routeStats is the traffic of one connection to a server of the cluster.
type routeStats struct {
	ID       uint64            `json:"rid"`
	Name     string            `json:"name,omitempty"`
	Sent     monitor.DataStats `json:"sent"`
	Received monitor.DataStats `json:"received"`
	Pending  int               `json:"pending"`
}

// gatewayStats is the traffic with another cluster.
type gatewayStats struct {
	ID       uint64            `json:"gwid"`
	Name     string            `json:"name"`
	Sent     monitor.DataStats `json:"sent"`
	Received monitor.DataStats `json:"received"`
	Inbound  int               `json:"inbound_connections"`
}

// statszRequest answers STATSZ and the bare PING.
func (s *Service) statszRequest(r *request) any {
	if e, ok := s.admit(r.body, &struct{}{}); !ok {
		return e
	}
	return s.stats()
}

// stats collects the figures.
func (s *Service) stats() *serverStats {
	v := s.monitor.Varz()
	st := statsz{Start: v.Start, Mem: v.Mem, Cores: v.Cores, CPU: v.CPU, Connections: v.Connections,
		TotalConnections: v.TotalConnections, Subscriptions: v.Subscriptions,
		Sent: data(v.OutMsgs, v.OutBytes), SentToClients: data(v.OutClientMsgs, v.OutClientBytes),
		Received: data(v.InMsgs, v.InBytes), ReceivedFromClients: data(v.InClientMsgs, v.InClientBytes),
		SlowConsumers: v.SlowConsumers, SlowConsumerStats: counted(v.SlowConsumersStats),
		StaleConnections: v.StaleConnections, StaleConnectionStats: counted(v.StaleConnectionStats),
		StalledClients: v.StalledClients, ActiveServers: s.activeServers(), MemLimit: v.GoMemLimit, MaxProcs: v.GoMaxProcs}
	for _, a := range s.accounts.All() {
		if n, _ := a.Conns(); n > 0 {
			st.ActiveAccounts++
		}
	}
	for _, r := range s.monitor.Routez(monitor.RoutezOptions{}).Routes {
		st.Routes = append(st.Routes, routeStats{ID: r.Rid, Name: r.RemoteName, Pending: r.Pending,
			Sent: data(r.OutMsgs, r.OutBytes), Received: data(r.InMsgs, r.InBytes)})
	}
	st.Gateways = s.gatewayStats()
	if js := v.JetStream; js.Config != nil {
		config := *js.Config
		config.StoreDir = "" // where a server keeps its data is not for other servers
		js.Config = &config
		st.JetStream = &js
	}
	return &serverStats{Server: s.about(), Stats: st}
}

func (s *Service) gatewayStats() (list []gatewayStats) {
	z := s.monitor.Gatewayz(monitor.GatewayzOptions{})
	for name, g := range z.Outbound {
		gs := gatewayStats{Name: name, Inbound: len(z.Inbound[name])}
		if c := g.Connection; c != nil {
			gs.ID, gs.Sent, gs.Received = c.Cid, data(c.OutMsgs, c.OutBytes), data(c.InMsgs, c.InBytes)
		}
		list = append(list, gs)
	}
	slices.SortFunc(list, func(a, b gatewayStats) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func data(msgs, bytes int64) monitor.DataStats {
	return monitor.DataStats{MsgBytes: monitor.MsgBytes{Msgs: msgs, Bytes: bytes}}
}

// counted returns nil for what never happened.
func counted(c monitor.KindCounts) *monitor.KindCounts {
	if c == (monitor.KindCounts{}) {
		return nil
	}
	return &c
}
