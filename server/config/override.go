package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"godwit/server/options"
)

// Errors about the command line, in nats-server's words.
var (
	ErrTLSCert         = errors.New("TLS Server certificate must be present and valid")
	ErrTLSKey          = errors.New("TLS Server private key must be present and valid")
	ErrClusterPassword = errors.New("expected cluster password to be set")
	ErrClusterNeeded   = errors.New("solicited routes require cluster capabilities, e.g. --cluster")
)

// override puts the flags over what a file said, in their order.
func override(o *options.Options, list []given) error {
	for _, g := range list {
		if g.def.set != nil {
			g.def.set(o, g.value)
		}
	}
	if err := overrideTLS(o, list); err != nil {
		return err
	}
	if err := overrideCluster(o, list); err != nil {
		return err
	}
	return overrideRoutes(o, list)
}

// overrideTLS replaces the TLS of clients if one of its flags is given.
func overrideTLS(o *options.Options, list []given) error {
	on, _ := value(list, "tls")
	verify, _ := value(list, "tlsverify")
	cert, _ := value(list, "tlscert")
	key, _ := value(list, "tlskey")
	ca, _ := value(list, "tlscacert")
	if !on.on && !verify.on && cert.text == "" && key.text == "" && ca.text == "" {
		return nil
	}
	t := &options.TLS{CertFile: cert.text, KeyFile: key.text, CAFile: ca.text, Verify: verify.on}
	switch {
	case t.CertFile == "":
		return ErrTLSCert
	case t.KeyFile == "":
		return ErrTLSKey
	}
	if err := checkTLSFiles(t); err != nil {
		return err
	}
	o.TLS = t
	return nil
}

// overrideCluster replaces the address of the route listener. An empty one switches the listener off.
func overrideCluster(o *options.Options, list []given) error {
	listen, ok := value(list, "cluster")
	if other, given := value(list, "cluster_listen"); given {
		listen, ok = other, true
	}
	if !ok {
		return nil
	}
	if listen.text == "" {
		o.Cluster.Port = 0
		return nil
	}
	s, random := strings.CutSuffix(listen.text, ":-1")
	if random {
		s += ":0"
	}
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	host, portText, err := net.SplitHostPort(u.Host)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return fmt.Errorf("could not parse port %q", portText)
	}
	if random {
		port = options.RandomPort
	}
	o.Cluster.Host, o.Cluster.Port = host, port
	o.Cluster.Authorization.Username, o.Cluster.Authorization.Password = "", ""
	if u.User == nil {
		return nil
	}
	password, set := u.User.Password()
	if !set {
		return ErrClusterPassword
	}
	o.Cluster.Authorization.Username, o.Cluster.Authorization.Password = u.User.Username(), password
	return nil
}

func overrideRoutes(o *options.Options, list []given) error {
	routes, ok := value(list, "routes")
	if !ok {
		return nil
	}
	o.Cluster.Routes = nil
	for s := range strings.SplitSeq(routes.text, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		u, err := url.Parse(s)
		if err != nil {
			return fmt.Errorf("error parsing route url [%q]", s)
		}
		o.Cluster.Routes = append(o.Cluster.Routes, u)
	}
	if len(o.Cluster.Routes) > 0 && o.Cluster.Port == 0 {
		return ErrClusterNeeded
	}
	return nil
}
