package options

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Errors of Validate, in nats-server's words.
var (
	ErrServerName     = errors.New("server name cannot contain spaces")
	ErrClosedClients  = errors.New("max_closed_clients can not be negative")
	ErrClusterName    = errors.New("cluster name cannot contain spaces")
	ErrClusterNames   = errors.New("cluster name conflicts between cluster and gateway definitions")
	ErrPinnedPool     = errors.New("pool_size cannot be negative if pinned accounts are specified")
	ErrGatewayName    = errors.New("gateway has no name")
	ErrLeafGateway    = errors.New("leaf nodes and gateways (both being defined) require a system account to also be configured")
	ErrWebsocketTLS   = errors.New("websocket requires TLS configuration")
	ErrMQTTServerName = errors.New("mqtt requires server name to be explicitly set")
	ErrMQTTJetStream  = errors.New("mqtt requires JetStream to be enabled if running in standalone mode")
	ErrMQTTAckWait    = errors.New("ack wait must be a positive value")
	ErrMQTTAPITimeout = errors.New("JS API timeout must be a positive value")
	ErrJSDomain       = errors.New("invalid domain name: may not contain ., * or >")
	ErrJSServerName   = errors.New("jetstream cluster requires `server_name` to be set")
	ErrJSClusterName  = errors.New("jetstream cluster requires `cluster.name` to be set")
	ErrSystemMissing  = errors.New("error resolving system account: account missing")

	ErrOperatorResolver = errors.New("operators require an account resolver to be configured")
	ErrOperatorAccounts = errors.New("operators do not allow Accounts to be configured directly")
	ErrOperatorUsers    = errors.New("operators do not allow users to be configured directly")
	ErrOperatorCallout  = errors.New("operators do not allow authorization callouts to be configured directly")
	ErrOperatorKeys     = errors.New("conflicting options for 'TrustedKeys' and 'TrustedOperators'")
	ErrOperatorSystem   = errors.New("system_account in config and operator JWT must be identical")
	ErrOperatorNoAuth   = errors.New("no_auth_user not compatible with Trusted Operator")
	ErrResolverSystem   = errors.New("using nats based account resolver - the system account needs to be specified in configuration or the operator jwt")
	ErrSentinel         = errors.New("default sentinel requires operators and accounts")
)

// Validate checks the options against each other, as a server does before it starts. It returns the first
// thing wrong.
func (o *Options) Validate() error {
	for _, check := range []func(*Options) error{
		checkBasics, checkTrust, checkNoAuthUser, checkCluster, checkGateway, checkLeaf, checkWebsocket, checkMQTT,
		checkJetStream, checkSystemAccount,
	} {
		if err := check(o); err != nil {
			return err
		}
	}
	return nil
}

func checkBasics(o *Options) error {
	switch {
	case o.LameDuckGrace >= o.LameDuckDuration:
		return fmt.Errorf("lame duck grace period (%v) should be strictly lower than lame duck duration (%v)", o.LameDuckGrace, o.LameDuckDuration)
	case int64(o.MaxPayload) > o.MaxPending:
		return fmt.Errorf("max_payload (%v) cannot be higher than max_pending (%v)", o.MaxPayload, o.MaxPending)
	case o.ClientAdvertise != "" && advertiseError(o.ClientAdvertise) != nil:
		return fmt.Errorf("invalid client_advertise value of %s, err=%w", o.ClientAdvertise, advertiseError(o.ClientAdvertise))
	case strings.Contains(o.ServerName, " "):
		return ErrServerName
	case o.MaxClosedClients < 0:
		return ErrClosedClients
	}
	return nil
}

// advertiseError says what is wrong with an address that clients are told: a host, with or without a port.
func advertiseError(addr string) error {
	_, _, err := net.SplitHostPort(addr)
	var bad *net.AddrError
	if errors.As(err, &bad) && bad.Err == "missing port in address" {
		return nil
	}
	return err
}

// hasUser tells whether name is a configured user or nkey.
func (o *Options) hasUser(name string) bool {
	return slices.ContainsFunc(o.Authorization.Users, func(u *User) bool { return u.Username == name || u.Nkey == name && name != "" })
}

// knownUser checks a no_auth_user.
func (o *Options) knownUser(name string) error {
	switch {
	case name == "":
		return nil
	case len(o.Authorization.Users) == 0:
		return fmt.Errorf("no_auth_user: %q present, but users/nkeys are not defined", name)
	case !o.hasUser(name):
		return fmt.Errorf("no_auth_user: %q not present as user or nkey in authorization block or account configuration", name)
	}
	return nil
}

func checkNoAuthUser(o *Options) error {
	if o.NoAuthUser != "" && len(o.Operators) > 0 {
		return ErrOperatorNoAuth
	}
	return o.knownUser(o.NoAuthUser)
}

// HasAccount tells whether the name is of an account that exists in this configuration.
func (o *Options) HasAccount(name string) bool {
	return name == DefaultGlobalAccount || !o.NoSystemAccount && name == DefaultSystemAccount ||
		slices.ContainsFunc(o.Accounts, func(a *Account) bool { return a.Name == name })
}

// OperatorMode tells whether logins are by JWT.
func (o *Options) OperatorMode() bool { return len(o.Operators) > 0 || len(o.TrustedKeys) > 0 }

func checkSystemAccount(o *Options) error {
	if o.OperatorMode() || o.NoSystemAccount || o.SystemAccount == "" || o.HasAccount(o.SystemAccount) {
		return nil
	}
	return ErrSystemMissing
}

func checkCluster(o *Options) error {
	c := &o.Cluster
	if strings.Contains(c.Name, " ") {
		return ErrClusterName
	}
	if o.Gateway.Name != "" && c.Name != "" && c.Name != o.Gateway.Name {
		return ErrClusterNames
	}
	if len(c.PinnedAccounts) > 0 {
		if c.PoolSize < 0 {
			return ErrPinnedPool
		}
		pinned := c.PinnedAccounts
		if o.SystemAccount != "" && !slices.Contains(pinned, o.SystemAccount) {
			pinned = append(slices.Clone(pinned), o.SystemAccount)
		}
		for i, name := range pinned {
			if slices.Contains(pinned[:i], name) {
				return fmt.Errorf("found duplicate account name %q in pinned accounts list %q", name, pinned)
			}
		}
	}
	if c.Port == 0 {
		return nil
	}
	return c.Compression.check()
}

// check checks that the mode is known and that its thresholds make sense.
func (c *Compression) check() error {
	switch c.Mode {
	case CompressionUnset, CompressionNotSupported, CompressionOff, CompressionAccept, CompressionFast, CompressionBetter, CompressionBest:
		return nil
	case CompressionAuto:
	default:
		return fmt.Errorf("unsupported compression mode %q", string(c.Mode))
	}
	if len(c.RTTThresholds) > 4 {
		return fmt.Errorf("compression mode %q should have no more than 4 RTT thresholds: %v", string(c.Mode), c.RTTThresholds)
	}
	var last time.Duration
	for _, t := range c.RTTThresholds {
		if t == 0 { // a step that is left out
			continue
		}
		if t < last {
			return fmt.Errorf("RTT threshold values %v should be in ascending order", c.RTTThresholds)
		}
		last = t
	}
	if last == 0 && len(c.RTTThresholds) > 0 {
		return fmt.Errorf("compression mode %q requires at least one RTT threshold", string(c.Mode))
	}
	return nil
}

func checkGateway(o *Options) error {
	g := &o.Gateway
	if g.Name == "" && g.Port == 0 {
		return nil
	}
	if g.Name == "" {
		return ErrGatewayName
	}
	if g.Port == 0 {
		return fmt.Errorf("gateway %q has no port specified (select -1 for random port)", g.Name)
	}
	for i, r := range g.Remotes {
		if r.Name == "" {
			return fmt.Errorf("gateway in the list %d has no name", i)
		}
		if len(r.URLs) == 0 {
			return fmt.Errorf("gateway %q has no URL", r.Name)
		}
	}
	return nil
}

func checkWebsocket(o *Options) error {
	w := &o.Websocket
	if w.Port == 0 {
		return nil
	}
	if w.TLS == nil && !w.NoTLS {
		return ErrWebsocketTLS
	}
	for _, origin := range w.AllowedOrigins {
		if _, err := url.ParseRequestURI(origin); err != nil {
			return fmt.Errorf("unable to parse allowed origin: %w", err)
		}
	}
	if err := checkListenerAuth(o, "websocket", &w.Authorization, w.NoAuthUser); err != nil {
		return err
	}
	if w.JWTCookie != "" && !o.OperatorMode() {
		return fmt.Errorf("trusted operators or trusted keys configuration is required for JWT authentication via cookie %q", w.JWTCookie)
	}
	for name := range w.Headers {
		low := strings.ToLower(name)
		switch {
		case slices.Contains([]string{"host", "content-length", "connection", "upgrade", "nats-no-masking"}, low):
			return fmt.Errorf("websocket: invalid header %q not allowed", name)
		case strings.HasPrefix(low, "sec-websocket-"):
			return fmt.Errorf("websocket: invalid header %q, \"Sec-WebSocket-\" prefix not allowed", name)
		}
	}
	return nil
}

// checkListenerAuth checks the credentials that a WebSocket or MQTT listener has of its own.
func checkListenerAuth(o *Options, listener string, a *Authorization, noAuthUser string) error {
	if err := o.knownUser(noAuthUser); err != nil {
		return err
	}
	if len(o.Authorization.Users) == 0 {
		return nil
	}
	if a.Username != "" {
		return fmt.Errorf("%s authentication username not compatible with presence of users/nkeys", listener)
	}
	if a.Token != "" {
		return fmt.Errorf("%s authentication token not compatible with presence of users/nkeys", listener)
	}
	return nil
}

func checkMQTT(o *Options) error {
	m := &o.MQTT
	if m.Port == 0 {
		return nil
	}
	standalone := o.Cluster.Port == 0 && o.Gateway.Name == "" && len(o.Leaf.Remotes) == 0
	switch {
	case !standalone && o.ServerName == "":
		return ErrMQTTServerName
	case standalone && !o.JetStream.Enabled:
		return ErrMQTTJetStream
	}
	if err := checkListenerAuth(o, "mqtt", &m.Authorization, m.NoAuthUser); err != nil {
		return err
	}
	switch {
	case m.AckWait < 0:
		return ErrMQTTAckWait
	case m.APITimeout < 0:
		return ErrMQTTAPITimeout
	case m.StreamReplicas > 0 && m.ConsumerReplicas > m.StreamReplicas:
		return fmt.Errorf("mqtt: consumer_replicas (%v) cannot be higher than stream_replicas (%v)", m.ConsumerReplicas, m.StreamReplicas)
	}
	return nil
}
