package monitor

// Source is what the server supplies. Every method may be called at any time, from several goroutines, until
// the monitor is closed; none may block on a client. Answers are snapshots: what is returned is *given* to the
// monitor unless a method says otherwise, and strings and slices inside are *shared* and never written again.
type Source interface {
	// Identity names the server.
	Identity() Identity
	// Varz returns a filled Varz. The monitor itself fills Go, Now, Uptime (from Start), Mem, Cores, GoMaxProcs,
	// GoMemLimit, CPU and HTTPReqStats.
	Varz() *Varz

	ConnSource
	AccountSource
	HealthSource
	JetStreamSource
	LinkSource
	InternalsSource
}

// Identity names a server in answers.
type Identity struct {
	ID      string // public server key, 56 characters
	Name    string // server_name, or the ID
	Version string // as shown to clients, without "v"
}

// ConnSource supplies connections and subscriptions.
type ConnSource interface {
	// EachConn calls f with every open client and leafnode connection until f returns false. The Conn is lent
	// and may be used again by the next call; f is quick and doesn't call the Source. A connection that sent "lang" in CONNECT and has no RTT yet is
	// sent a PING on this occasion.
	EachConn(f func(*Conn) bool)
	// ConnSubs lists the subscriptions of an open connection; nil if there is no such connection any more.
	ConnSubs(cid uint64) []SubDetail
	// ClosedConns returns the ring of closed connections, the same one for the whole life of the server.
	ClosedConns() *ClosedRing
	// SublistStats returns the figures of one account's subscription index, or with account "" the sum of all
	// accounts'; false if there is no such account.
	SublistStats(account string) (SublistStats, bool)
	// EachSub calls f with the client subscriptions (inside the server included, those of routes, gateways and
	// leafnodes not) of one account, or of all with account "", until f returns false. If test is not empty,
	// only with those that match this literal subject. The SubDetail is lent; f is quick. The order stays the same
	// while nothing changes, because answers are paged by position.
	EachSub(account, test string, f func(*SubDetail) bool)
}

// AccountSource supplies accounts.
type AccountSource interface {
	// HasAccount says whether an account of that name is loaded.
	HasAccount(name string) bool
	// AccountNames lists the loaded accounts, in any order.
	AccountNames() []string
	// SystemAccount is the name of the system account, or empty.
	SystemAccount() string
	// Account describes one account; nil if it doesn't exist.
	Account(name string) *AccountDetail
	// AccountStats returns the counters of an account; false if it doesn't exist.
	AccountStats(name string) (AccountStat, bool)
}

// HealthSource supplies what health checks look at.
type HealthSource interface {
	// NotReady names what should listen and doesn't, among "server", "route", "gateway", "leafnode",
	// "websocket" and "mqtt"; a name may be followed by "(error)". Empty when all is up.
	NotReady() []string
	// JetStreamHealth says what state JetStream is in.
	JetStreamHealth() JetStreamHealth
	// CheckAssets reports to f every problem with accounts, streams and consumers in the scope of sel, the
	// gravest first, until f returns false. Use the constructors in health_problem.go.
	CheckAssets(sel AssetSelector, f func(HealthProblem) bool)
}

// JetStreamSource supplies the figures of JetStream.
type JetStreamSource interface {
	// JetStream returns the totals of this server; nil if JetStream is off. raft asks for the leader counts.
	JetStream(raft bool) *JetStreamTotals
	// IsMetaLeader says whether this server leads the metadata group, or is a standalone JetStream server.
	IsMetaLeader() bool
	// JetStreamAccounts lists the accounts that use JetStream, in any order.
	JetStreamAccounts() []string
	// JetStreamAccount describes an account; nil if it doesn't use JetStream. StreamDetail is sorted by name.
	JetStreamAccount(name string, want JetStreamWant) *JSAccountDetail
}

// LinkSource supplies connections to other servers. Servers without links embed NoLinks.
type LinkSource interface {
	// Routes returns the cluster's permissions and the open routes, subscriptions as asked for.
	Routes(subs SubsMode) RouteSnapshot
	// Gateways returns the gateways that match o.
	Gateways(o GatewayzOptions) GatewaySnapshot
	// Leafs returns the leafnode connections of an account, or of all with account ""; with their subscriptions
	// if asked for.
	Leafs(account string, subs bool) []LeafInfo
}

// InternalsSource supplies queues and Raft groups. Servers without Raft embed NoRaft.
type InternalsSource interface {
	// Queues returns the internal queues of the server.
	Queues() []QueueInfo
	// RaftGroups returns the groups of an account, or only the named one; ok is false if the server has no
	// Raft group at all.
	RaftGroups(account, group string) (groups map[string]*RaftGroup, ok bool)
}

// SubsMode says how subscriptions are shown.
type SubsMode uint8

// The forms of subscription lists.
const (
	SubsNone     SubsMode = iota // no list
	SubsList                     // subjects only
	SubsDetailed                 // one SubDetail each
)

// NoLinks is a LinkSource for a server without routes, gateways and leafnodes.
type NoLinks struct{}

// Routes returns no routes.
func (NoLinks) Routes(SubsMode) RouteSnapshot { return RouteSnapshot{} }

// Gateways returns no gateways.
func (NoLinks) Gateways(GatewayzOptions) GatewaySnapshot { return GatewaySnapshot{} }

// Leafs returns no leafnodes.
func (NoLinks) Leafs(string, bool) []LeafInfo { return nil }

// NoRaft supplies the part of InternalsSource that concerns Raft for a server without Raft groups.
type NoRaft struct{}

// RaftGroups reports that no group is registered.
func (NoRaft) RaftGroups(string, string) (map[string]*RaftGroup, bool) { return nil, false }

// NoJetStream is a JetStreamSource for a server with JetStream off.
type NoJetStream struct{}

// JetStream returns nil.
func (NoJetStream) JetStream(bool) *JetStreamTotals { return nil }

// IsMetaLeader returns false.
func (NoJetStream) IsMetaLeader() bool { return false }

// JetStreamAccounts returns none.
func (NoJetStream) JetStreamAccounts() []string { return nil }

// JetStreamAccount returns nil.
func (NoJetStream) JetStreamAccount(string, JetStreamWant) *JSAccountDetail { return nil }
