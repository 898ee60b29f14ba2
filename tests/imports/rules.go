package imports

// Rules is the table of allowed directions:
//
//	cmd → server → front ends → {jetstream, conn} → account → router; jetstream → {raft, stream}
//	raft/logstore → stream/segment → vfs; protocol and conf import nothing of ours
func Rules() []Rule {
	const (
		leaf     = "it stands at the bottom, so that everything may use it and it can be tested alone"
		formats  = "wire formats do no I/O and know nothing of the server"
		storage  = "streams are a state machine over a log: they know neither connections nor accounts nor replication"
		blackbox = "the tests of this folder see the server as its users do"
	)
	return []Rule{
		{Of: "protocol", May: []string{"protocol"}, Why: formats},
		{Of: "conf", May: []string{"conf"}, Why: "the configuration language turns text into values and knows no options"},

		{Of: "stream/vfs", Why: leaf},
		{Of: "stream/latency", Why: leaf},
		{Of: "stream/segment", May: []string{"stream/latency", "stream/vfs", "stream/segment"}, Why: "the log knows records, not messages: it imports the file seam, and counts"},
		{Of: "stream", May: []string{"stream", "protocol"}, Why: storage},

		{Of: "raft/logstore", May: []string{"stream/segment", "stream/vfs"}, Why: "the log store adapts the segment log and nothing else"},
		{Of: "raft", May: []string{"raft", "protocol"}, Why: "replication carries entries and does not look into them: it meets streams in the domain service"},

		{Of: "server/options", Why: leaf},
		{Of: "server/logging", Why: leaf},
		{Of: "server/process", Why: leaf},
		{Of: "server/tlsconf", May: []string{"server/options"}, Why: "it makes TLS settings out of options"},
		{Of: "server/dashboard", Why: leaf},
		{Of: "server/revocation", May: []string{"server/options"}, Why: "it asks about certificates, whoever presents them"},
		{Of: "server/router", May: []string{"protocol"}, Why: "the router matches subjects and knows destinations only by a small interface"},
		{Of: "server/auth", May: []string{"protocol", "server/auth", "server/options", "server/tlsconf"}, Why: "who may do what does not depend on how they are connected"},
		{Of: "server/quota", May: []string{"server/options"}, Why: "it counts, and knows neither accounts nor connections"},
		{Of: "server/account", May: []string{"protocol", "server/auth", "server/options", "server/quota", "server/router"}, Why: "accounts own a router and its limits; connections come to them"},
		{Of: "server/monitor", May: []string{"protocol", "server/options"}, Why: "monitoring declares what it shows; the others fill it in"},
		{Of: "server/conn", May: []string{"protocol", "server/account", "server/auth", "server/conn", "server/logging", "server/monitor", "server/options", "server/quota", "server/router", "server/tlsconf"},
			Why: "connections know accounts and routing, not streams, raft or the server that owns them"},
		{Of: "server/websocket", May: []string{"protocol", "server/auth", "server/monitor", "server/options"},
			Why: "the listener hands over connections and does not know what is done with them"},
		{Of: "server/system", May: []string{"protocol", "server/account", "server/auth", "server/monitor", "server/options", "server/router"},
			Why: "requests and events are about the server, which implements a small interface"},
		{Of: "server/jetstream", May: []string{"protocol", "raft", "server/account", "server/auth", "server/jetstream", "server/logging", "server/monitor", "server/options", "server/router", "stream"},
			Why: "the domain service is where raft and streams meet; it serves connections without knowing them"},
		{Of: "server/jsapi", May: []string{"protocol", "server/jetstream", "server/router", "stream"},
			Why: "the API decodes, checks and encodes; the service does"},
		{Of: "server/config", May: []string{"conf", "protocol", "server/config", "server/options"}, Why: "it decodes configuration text into options, and options are all that the rest sees"},
		{Of: "server=", May: []string{"conf", "protocol", "raft", "server", "stream"}, Why: "the server is wired in one place, below the commands"},

		{Of: "cmd", May: []string{"cmd", "conf", "protocol", "server"}, Why: "commands are thin: they use the server, not its parts in storage or replication"},
		{Of: "tests", May: []string{"tests", "protocol", "server="}, Why: blackbox},
	}
}

// Bans is the table of imports that only some packages may have.
func Bans() []Ban {
	return []Ban{
		{Import: "godwit/conf", Only: []string{"cmd", "conf", "server=", "server/config"}, Why: "only the command, the server and server/config see configuration text; all others get options"},
		{Import: "godwit/tests", Only: []string{"tests"}, Why: "nothing that is shipped depends on the tests"},
		{Import: "github.com/nats-io/nats.go", Only: []string{"cmd", "tests"}, Why: "a server does not connect to itself"},
		{Import: "github.com/urfave/cli", Only: []string{"cmd"}, Why: "only commands read command lines"},
		{Import: "pgregory.net/rapid", Only: []string{"tests"}, Why: "property testing belongs in test files"},
		{Import: "go.uber.org/goleak", Only: []string{"tests"}, Why: "leak checks belong in test files"},
		{Import: "testing", Only: []string{"tests", "server/tlsconf/tlstest"}, Why: "the test framework belongs in test files"},
		{Import: "net/http/pprof", Only: []string{"server="}, Why: "only the profiling port serves its handlers"},
		{Import: "expvar", Why: "it registers a handler and variables for the whole process on import"},
	}
}
