package monitor

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestHealthz(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name, query string
		set         func(*fake)
		code        int
		body        string
	}{
		{"core only, asset named", "account=Z&stream=S", func(f *fake) { f.jsHealth = JetStreamHealth{} }, 200, `{"status":"ok"}`},
		{"stream without account", "stream=S", nil, 400, `{"status":"error","error":"\"account\" must not be empty when checking stream health"}`},
		{"stream without account, details", "stream=S&details=true", nil, 400,
			`{"status":"error","errors":[{"type":"BAD_REQUEST","error":"\"account\" must not be empty when checking stream health"}]}`},
		{"consumer without stream", "account=A&consumer=C", nil, 400, `{"status":"error","error":"\"stream\" must not be empty when checking consumer health"}`},
		{"bad request before listeners", "stream=S", func(f *fake) { f.notReady = []string{"server"} }, 400,
			`{"status":"error","error":"\"account\" must not be empty when checking stream health"}`},
		{"listeners down", "", func(f *fake) { f.notReady = []string{"server", "route (bind: in use)"} }, 500,
			`{"status":"error","error":"failed to be ready for connections after 1ms: server, route (bind: in use)"}`},
		{"listeners down, details", "details=1", func(f *fake) { f.notReady = []string{"mqtt"} }, 500,
			`{"status":"error","errors":[{"type":"CONNECTION","error":"failed to be ready for connections after 1ms: mqtt"}]}`},
		{"server only", "js-server-only=1", func(f *fake) { f.jsHealth = JetStreamHealth{Configured: true} }, 200, `{"status":"ok"}`},
		{"JetStream disabled", "", func(f *fake) { f.jsHealth = JetStreamHealth{Configured: true} }, 503, `{"status":"unavailable","error":"JetStream not enabled (10076)"}`},
		{"JetStream disabled, enabled only", "js-enabled-only=1", func(f *fake) { f.jsHealth = JetStreamHealth{Configured: true} }, 503,
			`{"status":"unavailable","error":"JetStream not enabled (10076)"}`},
		{"enabled only stops before the metadata group", "js-enabled-only=1", func(f *fake) { f.jsHealth.Meta = MetaNoLeader }, 200, `{"status":"ok"}`},
		{"older name of enabled only", "js-enabled=1", func(f *fake) { f.jsHealth.Meta = MetaNoLeader }, 200, `{"status":"ok"}`},
		{"metadata group", "", func(f *fake) { f.jsHealth.Meta = MetaNoLeader }, 503,
			`{"status":"unavailable","error":"JetStream has not established contact with a meta leader"}`},
		{"metadata group, details", "details=1", func(f *fake) { f.jsHealth.Meta = MetaWriteError(boom) }, 503,
			`{"status":"error","errors":[{"type":"JETSTREAM","error":"JetStream meta layer write error: boom"}]}`},
		{"metadata only stops before assets", "js-meta-only=1", func(f *fake) { f.problems = []HealthProblem{AccountMissing("A")} }, 200, `{"status":"ok"}`},
		{"account", "account=Z", func(f *fake) { f.problems = []HealthProblem{AccountMissing("Z")} }, 404,
			`{"status":"unavailable","error":"JetStream account \"Z\" not found"}`},
		{"account, details", "account=Z&details=1", func(f *fake) { f.problems = []HealthProblem{AccountMissing("Z")} }, 404,
			`{"status":"error","errors":[{"type":"ACCOUNT","account":"Z","error":"JetStream account \"Z\" not found"}]}`},
		{"stream", "account=A&stream=SX", func(f *fake) { f.problems = []HealthProblem{StreamMissing("A", "SX")} }, 404,
			`{"status":"unavailable","error":"JetStream stream \"SX\" not found on account \"A\""}`},
		{"consumer", "account=A&stream=S1&consumer=CX", func(f *fake) { f.problems = []HealthProblem{ConsumerMissing("A", "S1", "CX")} }, 404,
			`{"status":"unavailable","error":"JetStream consumer \"CX\" not found for stream \"S1\" on account \"A\""}`},
		{"consumer, details", "account=A&stream=S1&consumer=CX&details=1", func(f *fake) { f.problems = []HealthProblem{ConsumerMissing("A", "S1", "CX")} }, 404,
			`{"status":"error","errors":[{"type":"CONSUMER","account":"A","stream":"S1","consumer":"CX","error":"JetStream consumer \"CX\" not found for stream \"S1\" on account \"A\""}]}`},
		{"first of several", "", func(f *fake) {
			f.problems = []HealthProblem{StreamWriteError("A", "S", boom), ConsumerNotCurrent("A", "S", "C", "consumer not found")}
		}, 503, `{"status":"unavailable","error":"JetStream stream 'A \u003e S' write error: boom"}`},
		{"all of several", "details=1", func(f *fake) {
			f.problems = []HealthProblem{StreamNotCurrent("A", "S", "stream catching up"), ConsumerNotCurrent("A", "S", "C", "consumer not found")}
		}, 503, `{"status":"error","errors":[{"type":"STREAM","account":"A","stream":"S","error":"JetStream stream 'A \u003e S' is not current: stream catching up"},` +
			`{"type":"CONSUMER","account":"A","stream":"S","consumer":"C","error":"JetStream consumer 'A \u003e S \u003e C' is not current: consumer not found"}]}`},
		{"details of nothing", "details=1", func(*fake) {}, 200, `{"status":"ok"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.jsHealth = JetStreamHealth{Configured: true, Enabled: true}
			if tt.set != nil {
				tt.set(f)
			}
			m, log := newTest(f)
			code, header, body := get(t, m.Handler(""), "/healthz?"+tt.query)
			if code != tt.code || body != tt.body {
				t.Errorf("got  %d %s\nwant %d %s", code, body, tt.code, tt.body)
			}
			if header.Get("Content-Type") != "application/json" {
				t.Errorf("header %v", header)
			}
			failed := slices.ContainsFunc(log.all(), func(l string) bool { return strings.HasPrefix(l, "WRN Healthcheck failed: ") })
			if failed != (code != 200) {
				t.Errorf("log %q", log.all())
			}
		})
	}
}

func TestHealthzLogs(t *testing.T) {
	f := newFake()
	m, log := newTest(f)
	m.Healthz(HealthzOptions{Stream: "S"})
	m.Healthz(HealthzOptions{Stream: "S", Details: true})
	m.Healthz(HealthzOptions{JSEnabled: true})
	want := []string{
		`WRN Healthcheck failed: "\"account\" must not be empty when checking stream health"`,
		"WRN Healthcheck failed: 1 errors",
		"WRN Healthcheck: js-enabled deprecated, use js-enabled-only instead",
	}
	if got := log.all(); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestHealthzPassesTheSelection(t *testing.T) {
	f := newFake()
	f.jsHealth = JetStreamHealth{Configured: true, Enabled: true}
	m, _ := newTest(f)
	if h := m.Healthz(HealthzOptions{Account: "A", Stream: "S", Consumer: "C"}); h.Code != http.StatusOK || f.asked != (AssetSelector{"A", "S", "C"}) {
		t.Errorf("%+v, asked %+v", h, f.asked)
	}
}

func TestHealthzBoundsErrors(t *testing.T) {
	f := newFake()
	f.jsHealth = JetStreamHealth{Configured: true, Enabled: true}
	f.problems = make([]HealthProblem, healthErrorsMax+10)
	for i := range f.problems {
		f.problems[i] = StreamUnrecovered("A", "S")
	}
	m, _ := newTest(f)
	if h := m.Healthz(HealthzOptions{Details: true}); len(h.Errors) != healthErrorsMax {
		t.Error(len(h.Errors))
	}
}

func TestHealthTexts(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		p    HealthProblem
		kind HealthErrorType
		want string
	}{
		{AccountExpired("A"), HealthAccount, "JetStream account 'A' is expired"},
		{AccountUnresolved("A"), HealthAccount, "JetStream account 'A' could not be resolved"},
		{StreamUnrecovered("A", "S"), HealthStream, "JetStream stream 'A > S' could not be recovered"},
		{StreamWriteError("A", "S", boom), HealthStream, "JetStream stream 'A > S' write error: boom"},
		{ClusterAccountExpired("A"), HealthAccount, `JetStream account "A" is expired`},
		{ClusterAccountLookup("A", boom), HealthAccount, `JetStream can not lookup account "A": boom`},
		{StreamNotCurrent("A", "S", "stream not found"), HealthStream, "JetStream stream 'A > S' is not current: stream not found"},
		{ConsumerNotCurrent("A", "S", "C", "stream missing"), HealthConsumer, "JetStream consumer 'A > S > C' is not current: stream missing"},
	}
	for _, tt := range tests {
		if tt.p.Error != tt.want || tt.p.Type != tt.kind || tt.p.Code != 503 || tt.p.Account != "A" || tt.p.status() != "unavailable" {
			t.Errorf("%+v, want %s %s", tt.p, tt.kind, tt.want)
		}
	}
	for got, want := range map[string]string{
		MetaApplyError(boom): "JetStream meta layer apply error: boom", MetaStopped: "JetStream meta layer is not running",
		MetaRecovering: "JetStream is still recovering meta layer", MetaNotCurrent: "JetStream is not current with the meta leader",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
