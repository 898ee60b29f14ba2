package monitor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"testing"
	"time"
)

func TestConnInfoShowsAuthOnlyWhenAsked(t *testing.T) {
	c := &Conn{
		CID: 6, Kind: KindClient, Type: TypeNATS, IP: "127.0.0.1", Port: 40664, Start: t0, LastActivity: t0.Add(3 * time.Second),
		RTT: 506789, OutMsgs: 1, OutBytes: 5, NumSubs: 1, Name: "cli", Lang: "go", Version: "1.53.1", Stalls: 2,
		User: "a", Account: "A", NameTag: "tag", JWT: "j", IssuerKey: "i", Tags: []string{"x"}, MQTTClient: "mc", ProxyKey: "PK",
		TLS: &TLSInfo{Version: "1.3", Cipher: "TLS_AES_128_GCM_SHA256", PeerCerts: []TLSPeerCert{{Subject: "CN=c"}}}, TLSFirst: true,
	}
	head := `{"cid":6,"kind":"Client","type":"nats","ip":"127.0.0.1","port":40664,"start":"2026-11-30T22:10:34.941198101Z",` +
		`"last_activity":"2026-11-30T22:10:37.941198101Z","rtt":"506µs","uptime":"5s","idle":"2s","pending_bytes":0,"in_msgs":0,"out_msgs":1,` +
		`"in_bytes":0,"out_bytes":5,"stalls":2,"subscriptions":1,"name":"cli","lang":"go","version":"1.53.1","tls_version":"1.3","tls_cipher_suite":"TLS_AES_128_GCM_SHA256",`
	tail := `"mqtt_client":"mc","proxy":{"key":"PK"}}`
	tests := []struct {
		name string
		auth bool
		want string
	}{
		{"without", false, head + `"tls_first":true,` + tail},
		{"with", true, head + `"tls_peer_certs":[{"subject":"CN=c"}],"tls_first":true,"authorized_user":"a","account":"A","jwt":"j","issuer_key":"i","name_tag":"tag","tags":["x"],` + tail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(NewConnInfo(c, t0.Add(5*time.Second), tt.auth))
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
	c.Account = "$G"
	if ci := NewConnInfo(c, t0, true); ci.Account != "" {
		t.Errorf("global account shown as %q", ci.Account)
	}
}

func TestConnInfoOfClosedCountsToItsEnd(t *testing.T) {
	c := &Conn{Start: t0, LastActivity: t0.Add(time.Minute), Stop: t0.Add(3 * time.Minute), Reason: ReasonStaleConnection}
	ci := NewConnInfo(c, t0.Add(time.Hour), false)
	if ci.Uptime != "3m0s" || ci.Idle != "2m0s" || ci.Reason != "Stale Connection" || !ci.Stop.Equal(c.Stop) || ci.RTT != "0s" {
		t.Errorf("%+v", ci)
	}
}

func TestConnzSubscriptionLists(t *testing.T) {
	m, _ := newTest(population())
	tests := []struct {
		name string
		o    ConnzOptions
		want string // of the first connection's lists
	}{
		{"none", ConnzOptions{CID: 7}, `null null`},
		{"subjects", ConnzOptions{CID: 10, Subscriptions: true}, `["x.a"] null`},
		{"details of open ones lack the account", ConnzOptions{CID: 10, Subscriptions: true, SubscriptionsDetail: true},
			`null [{"subject":"x.a","sid":"1","msgs":0,"cid":10}]`},
		{"detail alone", ConnzOptions{CID: 10, SubscriptionsDetail: true}, `null [{"subject":"x.a","sid":"1","msgs":0,"cid":10}]`},
		{"details of closed ones have it", ConnzOptions{CID: 15, State: ConnClosed, SubscriptionsDetail: true},
			`null [{"account":"B","account_tag":"B","subject":"q","sid":"1","msgs":0,"cid":15}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z, err := m.Connz(tt.o)
			if err != nil || len(z.Conns) != 1 {
				t.Fatalf("%+v, %v", z, err)
			}
			list, err1 := json.Marshal(z.Conns[0].Subs)
			detail, err2 := json.Marshal(z.Conns[0].SubsDetail)
			if got := string(list) + " " + string(detail); got != tt.want || err1 != nil || err2 != nil {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	f := population()
	before := f.subs[10][0]
	m, _ = newTest(f)
	if _, err := m.Connz(ConnzOptions{SubscriptionsDetail: true}); err != nil || f.subs[10][0] != before {
		t.Errorf("the source's own list was changed to %+v, %v", f.subs[10][0], err)
	}
}

func TestTLSInfo(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost", Organization: []string{"Test"}}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	info := NewTLSInfo(&tls.ConnectionState{Version: tls.VersionTLS12, CipherSuite: tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, PeerCertificates: []*x509.Certificate{cert}})
	whole, spki := sha256.Sum256(der), sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	want := TLSPeerCert{"CN=localhost,O=Test", hex.EncodeToString(spki[:]), hex.EncodeToString(whole[:])}
	if info.Version != "1.2" || info.Cipher != "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" || info.PeerCerts[0] != want {
		t.Errorf("%+v", info)
	}
	for v, want := range map[uint16]string{tls.VersionTLS10: "1.0", tls.VersionTLS11: "1.1", tls.VersionTLS13: "1.3", 0x300: "Unknown [0x300]", 0x305: "Unknown [0x305]"} {
		if got := TLSVersionText(v); got != want {
			t.Errorf("%x: %q", v, got)
		}
	}
}

func TestRTTText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 300: "0s", 131999: "131µs", 999999: "999µs", 1234567: "1.234567ms", 2 * time.Second: "2s",
	} {
		if got := formatRTT(d); got != want {
			t.Errorf("%d: got %q, want %q", d, got, want)
		}
	}
}

func TestUptimeText(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-1: "0s", 0: "0s", 5*time.Second + 999*time.Millisecond: "5s", 2*time.Minute + 3*time.Second: "2m3s", time.Hour: "1h0m0s",
		time.Hour + 2*time.Minute + 3*time.Second: "1h2m3s", day + 2*time.Hour + 3*time.Minute + 4*time.Second: "1d2h3m4s",
		364 * day: "364d0h0m0s", 367*day + 3*time.Hour + 4*time.Minute + 5*time.Second: "1y2d3h4m5s",
	} {
		if got := FormatUptime(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestReasonTexts(t *testing.T) {
	seen := map[string]Reason{}
	for r := ReasonClientClosed; r < reasonEnd; r++ {
		text := r.String()
		if other, dup := seen[text]; dup || text == "" {
			t.Errorf("%#v has no text of its own (%#v)", r, other)
		}
		seen[text] = r
	}
	if len(seen) != 37 || reasonEnd.String() != "Unknown State" || Reason(255).String() != "Unknown State" || ReasonNone.String() != "" {
		t.Errorf("%d reasons", len(seen))
	}
}
