package config

import (
	"fmt"
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// ocspPeerBlock declares the block ocsp_peer.
func ocspPeerBlock() *conf.Block[options.OCSPPeer] {
	flag := func(at func(*options.OCSPPeer) *bool) conf.Setter[options.OCSPPeer] {
		return func(d *conf.Decoder, key string, v *conf.Value, p *options.OCSPPeer) {
			if v.Kind != conf.Bool {
				d.Errorf(v, "%s", unknownPeerField(key))
				return
			}
			*at(p) = v.Flag
		}
	}
	span := func(at func(*options.OCSPPeer) *time.Duration) conf.Setter[options.OCSPPeer] {
		return func(d *conf.Decoder, key string, v *conf.Value, p *options.OCSPPeer) {
			t, ok := seconds(v, func(problem string) {
				if v.Kind != conf.String || strings.EqualFold(key, "allowed_clockskew") {
					problem = "unexpected type"
				}
				d.Errorf(v, "error parsing tls peer config, conversion error: %s", problem)
			})
			if ok && t >= 0 {
				*at(p) = t
			}
		}
	}
	return conf.NewBlock(conf.Block[options.OCSPPeer]{
		Name: "ocsp_peer", Doc: "How the revocation state of the other side's certificate is asked for.",
		Unknown: unknownPeerField,
	},
		conf.Field[options.OCSPPeer]{Key: "verify", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Ask.", Set: flag(func(p *options.OCSPPeer) *bool { return &p.Verify })},
		conf.Field[options.OCSPPeer]{Key: "allowed_clockskew", Type: "duration or seconds", Default: "30s", Reload: conf.Live, Doc: "How far the responder's clock may differ.", Set: span(func(p *options.OCSPPeer) *time.Duration { return &p.ClockSkew })},
		conf.Field[options.OCSPPeer]{Key: "ca_timeout", Type: "duration or seconds", Default: "2s", Reload: conf.Live, Doc: "Time for an answer of the responder.", Set: span(func(p *options.OCSPPeer) *time.Duration { return &p.CATimeout })},
		conf.Field[options.OCSPPeer]{Key: "cache_ttl_when_next_update_unset", Type: "duration or seconds", Default: "1h", Reload: conf.Live, Doc: "How long an answer counts that does not say so itself.", Set: span(func(p *options.OCSPPeer) *time.Duration { return &p.TTLUnsetNextUpdate })},
		conf.Field[options.OCSPPeer]{Key: "warn_only", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Log a revoked certificate, but accept it.", Set: flag(func(p *options.OCSPPeer) *bool { return &p.WarnOnly })},
		conf.Field[options.OCSPPeer]{Key: "unknown_is_good", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Accept a certificate that the responder does not know.", Set: flag(func(p *options.OCSPPeer) *bool { return &p.UnknownIsGood })},
		conf.Field[options.OCSPPeer]{Key: "allow_when_ca_unreachable", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Accept a certificate when the responder does not answer.", Set: flag(func(p *options.OCSPPeer) *bool { return &p.AllowWhenCAUnreachable })},
	)
}

func unknownPeerField(key string) string {
	return fmt.Sprintf("error parsing tls peer config, unknown field [%q]", key)
}

func setOCSPPeer(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
	p := &options.OCSPPeer{ClockSkew: 30 * time.Second, CATimeout: 2 * time.Second, TTLUnsetNextUpdate: time.Hour}
	switch v.Kind {
	case conf.Bool:
		p.Verify = v.Flag
	case conf.MapKind:
		ocspPeerBlock().Decode(d, v, p)
	default:
		d.Errorf(v, "error parsing ocsp peer config: unsupported type map[string]interface {}")
		return
	}
	t.OCSPPeer = p
}

// certStoreFields declares the keys of the Windows certificate store. They are checked and then refused
// where they would be used, because there is no such store here.
func certStoreFields() []conf.Field[tlsBuild] {
	text := func(then func(d *conf.Decoder, v *conf.Value)) conf.Setter[tlsBuild] {
		return func(d *conf.Decoder, key string, v *conf.Value, _ *tlsBuild) {
			if v.Kind != conf.String || v.Text == "" {
				d.Errorf(v, "expected '%s' to be a valid non-empty string", strings.ToLower(key))
				return
			}
			then(d, v)
		}
	}
	const only = " Windows only: refused elsewhere."
	return []conf.Field[tlsBuild]{
		{Key: "cert_store", Type: "string", Doc: "Certificate store, `WindowsCurrentUser` or `WindowsLocalMachine`." + only, Set: text(func(d *conf.Decoder, v *conf.Value) {
			switch v.Text {
			case "WindowsCurrentUser", "WindowsLocalMachine":
				d.Errorf(v, "cert_store not compatible with current operating system")
			default:
				d.Errorf(v, "cert store type not implemented")
			}
		})},
		{Key: "cert_match_by", Type: "string", Doc: "What cert_match is: `Issuer`, `Subject` or `Thumbprint`." + only, Set: text(func(d *conf.Decoder, v *conf.Value) {
			switch v.Text {
			case "Issuer", "Subject", "Thumbprint":
			default:
				d.Errorf(v, "cert match by type not implemented")
			}
		})},
		{Key: "cert_match", Type: "string", Doc: "Which certificate of the store to use." + only, Set: text(func(*conf.Decoder, *conf.Value) {})},
		{Key: "ca_certs_match", Type: "list of strings", Doc: "Which authorities of the store to trust." + only, Set: func(d *conf.Decoder, _ string, v *conf.Value, _ *tlsBuild) {
			for _, e := range v.List {
				if e.Kind != conf.String {
					d.Errorf(v, "error parsing ca_cert_match: unsupported type %s where string is expected", e.GoType())
				}
			}
		}},
		{Key: "cert_match_skip_invalid", Type: "boolean", Doc: "Skip expired certificates of the store." + only, Set: func(d *conf.Decoder, _ string, v *conf.Value, _ *tlsBuild) {
			if v.Kind != conf.Bool {
				d.Errorf(v, "expected 'cert_match_skip_invalid' to be a boolean")
			}
		}},
	}
}
