package config

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// Errors about JWTs.
var (
	errJWTChunks    = errors.New("expected 3 chunks")
	errJWTAlgorithm = errors.New("unexpected algorithm")
	errJWTSignature = errors.New("claim failed signature verification")
	errJWTKind      = errors.New("not the kind of claim that is expected")
)

// claims are those parts of a JWT that configuration needs.
type claims struct {
	identity
	Nats struct {
		Version             int      `json:"version"`
		SigningKeys         []string `json:"signing_keys"`
		AccountServerURL    string   `json:"account_server_url"`
		SystemAccount       string   `json:"system_account"`
		AssertServerVersion string   `json:"assert_server_version"`
		StrictSigning       bool     `json:"strict_signing_key_usage"`
	} `json:"nats"`
}

// identity says whose JWT it is.
type identity struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	Name    string `json:"name"`
}

// decodeClaims reads a JWT of the kind, operator or account, and checks its signature by its issuer.
func decodeClaims(token, kind string) (*claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errJWTChunks
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil {
			return nil, err
		}
		raw[i] = b
	}
	var header struct {
		Type      string `json:"typ"`
		Algorithm string `json:"alg"`
	}
	if err := json.Unmarshal(raw[0], &header); err != nil {
		return nil, err
	}
	var kinds struct {
		Type string `json:"type"` // version 1
		Nats struct {
			Type string `json:"type"`
		} `json:"nats"`
	}
	if err := json.Unmarshal(raw[1], &kinds); err != nil {
		return nil, err
	}
	if kinds.Nats.Type != kind && kinds.Type != kind {
		return nil, errJWTKind
	}
	out := &claims{}
	if kind == "operator" { // an account's lists have other forms, which are of no interest here
		if err := json.Unmarshal(raw[1], out); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(raw[1], &out.identity); err != nil {
		return nil, err
	}
	signed := token[:strings.LastIndexByte(token, '.')]
	switch header.Algorithm {
	case "ed25519-nkey":
	case "ed25519": // version 1 signs the claims only
		signed = parts[1]
	default:
		return nil, fmt.Errorf("%w %q", errJWTAlgorithm, header.Algorithm)
	}
	issuer, err := nkeys.FromPublicKey(out.Issuer)
	if err != nil {
		return nil, err
	}
	if err := issuer.Verify([]byte(signed), raw[2]); err != nil {
		return nil, errJWTSignature
	}
	return out, nil
}

var decoratedJWT = regexp.MustCompile(`(?s)-{3,}BEGIN [^\n]*-{3,}\s*([A-Za-z0-9_.=-]+)\s*-{3,}END [^\n]*-{3,}`)

// readOperator reads an operator JWT, or the file at a path that has one.
func readOperator(s string) (*options.Operator, error) {
	token := s
	if !strings.HasPrefix(s, "eyJ") {
		data, err := os.ReadFile(s)
		if err != nil {
			return nil, err
		}
		token = strings.TrimSpace(string(data))
		if m := decoratedJWT.FindStringSubmatch(token); m != nil {
			token = m[1]
		}
	}
	c, err := decodeClaims(token, "operator")
	if err != nil {
		return nil, err
	}
	version := c.Nats.Version
	orDefault(&version, 1)
	return &options.Operator{
		JWT:                 token,
		Subject:             c.Subject,
		Name:                c.Name,
		SigningKeys:         c.Nats.SigningKeys,
		SystemAccount:       c.Nats.SystemAccount,
		StrictSigning:       c.Nats.StrictSigning,
		AccountServerURL:    c.Nats.AccountServerURL,
		AssertServerVersion: c.Nats.AssertServerVersion,
		Version:             version,
	}, nil
}
