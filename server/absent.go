package server

import (
	"errors"

	"godwit/server/options"
)

// Errors of configurations that ask for protection which this server cannot give: it does not start without it.
var (
	ErrEncryption = errors.New("encryption of stored streams is not available in this version: remove the encryption key")
)

// guardable refuses what would leave the server open or data readable although the configuration says otherwise.
func guardable(o *options.Options) error {
	switch {
	case o.JetStream.Enabled && (o.JetStream.EncryptionKey != "" || o.JetStream.TPM != nil):
		return ErrEncryption
	}
	return nil
}

// warnAbsent says which parts of the configuration were read and checked, but have no effect yet.
func (s *Server) warnAbsent() {
	o := s.options()
	for _, b := range []struct {
		name string
		set  bool
	}{
		{"cluster", o.Cluster.Port != 0 || len(o.Cluster.Routes) > 0},
		{"gateway", o.Gateway.Name != ""},
		{"leafnodes", o.Leaf.Port != 0 || len(o.Leaf.Remotes) > 0},
		{"mqtt", o.MQTT.Port != 0},
	} {
		if b.set {
			s.log.Warnf("The configuration has %s, which this version checks but does not offer", b.name)
		}
	}
}
