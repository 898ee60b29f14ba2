package compat

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/ocsp"

	"godwit/server/tlsconf/tlstest"
	"godwit/tests/harness"
)

// responder answers that all certificates of an authority are good but those of one serial number.
func responder(t *testing.T, ca *tlstest.CA, revoked *atomic.Pointer[tlstest.Pair]) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		q, err := ocsp.ParseRequest(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := ocsp.Response{SerialNumber: q.SerialNumber, ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour)}
		if p := revoked.Load(); p != nil && p.Cert.SerialNumber.Cmp(q.SerialNumber) == 0 {
			a.Status, a.RevokedAt = ocsp.Revoked, time.Now().Add(-time.Hour)
		}
		raw, err := ocsp.CreateResponse(ca.Cert, ca.Cert, a, ca.Sign())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Write(raw)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// The server staples the state of its certificate, and lets nobody in whose certificate is revoked: clients and browsers alike.
func TestRevokedCertificates(t *testing.T) {
	var revoked atomic.Pointer[tlstest.Pair]
	ca := tlstest.NewCA(t)
	url := responder(t, ca, &revoked)
	issue := func(cn string, client bool) *tlstest.Pair {
		return ca.Issue(t, tlstest.Request{Subject: pkix.Name{CommonName: cn}, Client: client, Responders: []string{url}})
	}
	server, good, bad := issue("server", false), issue("good", true), issue("bad", true)
	revoked.Store(bad)
	dir := t.TempDir()
	block := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true, ocsp_peer: true }\n", server.CertFile, server.KeyFile, ca.File)
	config := func(more string) string {
		return fmt.Sprintf("%s\nocsp: {mode: always}\nocsp_cache: {type: local, local_store: %q}\nwebsocket { port: -1, %s }\n"+
			"accounts { SYS { users: [{user: sys, password: p}] }, A { users: [{user: a, password: p}] } }\nsystem_account: SYS\n%s", block, dir, block, more)
	}
	s := harness.Start(t, harness.Options{Config: config("")})
	stapled := 0
	options := func(p *tlstest.Pair, user string) []nats.Option {
		c := ca.ClientConfig(p)
		c.VerifyConnection = func(st tls.ConnectionState) error {
			stapled = len(st.OCSPResponse)
			return nil
		}
		return []nats.Option{nats.Secure(c), nats.UserInfo(user, "p")}
	}
	sys, err := nats.Connect(s.URL(), options(good, "sys")...)
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	if stapled == 0 {
		t.Error("nothing is stapled")
	}
	events, err := sys.SubscribeSync("$SYS.SERVER.*.OCSP.PEER.CONN.REJECT")
	if err != nil {
		t.Fatal(err)
	}
	if err := sys.Flush(); err != nil {
		t.Fatal(err)
	}
	addresses := map[string]string{"Client": s.URL(), "Websocket": s.WaitLog(`Listening for websocket clients on (wss://\S+)`)[1]}
	for kind, addr := range addresses {
		if err := roundTripTo(addr, options(good, "a")...); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := roundTripTo(addr, options(bad, "a")...); err == nil {
			t.Errorf("%s: a revoked certificate is let in", kind)
		}
		var event struct {
			Kind, Reason string
			Peer         struct{ Subject string }
		}
		m, err := events.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(kind, err)
		}
		if err := json.Unmarshal(m.Data, &event); err != nil || event.Kind != kind || event.Peer.Subject != "CN=bad" || event.Reason != "client not OCSP valid" {
			t.Errorf("%s: %+v %v", kind, event, err)
		}
	}
	var varz struct {
		Verify bool `json:"tls_ocsp_peer_verify"`
		Cache  struct {
			Hits    int `json:"cache_hits"`
			Revoked int `json:"cached_revoked_responses"`
		} `json:"ocsp_peer_cache"`
	}
	s.Monitor(t, "/varz", &varz)
	if !varz.Verify || varz.Cache.Revoked != 1 || varz.Cache.Hits == 0 {
		t.Errorf("%+v", varz)
	}

	// A configuration whose certificate is revoked is not taken over, and the server goes on.
	revoked.Store(server)
	s.Configure(config("max_payload: 1234"))
	if line := s.Reload(); !strings.Contains(line, "certificate at") || !strings.Contains(line, "revoked") {
		t.Errorf("reload: %s", line)
	}
	if err := roundTripTo(s.URL(), options(good, "a")...); err != nil {
		t.Error(err)
	}
}
