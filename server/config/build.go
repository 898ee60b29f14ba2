package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// build is a configuration in the making: the options and what the blocks have to tell each other.
type build struct {
	*options.Options
	decoder *conf.Decoder

	storeDirSet bool        // store_dir was given, at the top or in the jetstream block
	exchanges   []*exchange // imports and exports, to be checked when all accounts are known
}

// finish checks what needs the whole file and fills in defaults of what the file set to zero.
func (b *build) finish() {
	if !b.decoder.Failed() {
		b.checkExchanges()
		b.checkCallout()
	}
	baseline(b.Options)
}

// baseline puts the default where a number is 0 and 0 has no meaning of its own.
func baseline(o *options.Options) {
	def := options.Defaults()
	orDefault(&o.Host, def.Host)
	orDefault(&o.Port, def.Port)
	orDefault(&o.MaxConn, def.MaxConn)
	orDefault(&o.MaxControlLine, def.MaxControlLine)
	orDefault(&o.MaxPayload, def.MaxPayload)
	orDefault(&o.MaxPending, def.MaxPending)
	orDefault(&o.MaxClosedClients, def.MaxClosedClients)
	orDefault(&o.PingInterval, def.PingInterval)
	orDefault(&o.MaxPingsOut, def.MaxPingsOut)
	orDefault(&o.WriteDeadline, def.WriteDeadline)
	orDefault(&o.LameDuckDuration, def.LameDuckDuration)
	orDefault(&o.LameDuckGrace, def.LameDuckGrace)
	orDefault(&o.ConnectErrorReports, def.ConnectErrorReports)
	orDefault(&o.ReconnectErrorReports, def.ReconnectErrorReports)
	orDefault(&o.Cluster.PoolSize, def.Cluster.PoolSize)
	orDefault(&o.Leaf.Reconnect, def.Leaf.Reconnect)
	orDefault(&o.Leaf.DialTimeout, def.Leaf.DialTimeout)
	orDefault(&o.MQTT.AckWait, def.MQTT.AckWait)
	orDefault(&o.MQTT.MaxAckPending, def.MQTT.MaxAckPending)
	orDefault(&o.MQTT.APITimeout, def.MQTT.APITimeout)
	orDefault(&o.JetStream.RequestQueue, def.JetStream.RequestQueue)
	orDefault(&o.JetStream.InfoQueue, o.JetStream.RequestQueue)
	orDefault(&o.JetStream.Limits.DefaultMaxConsumers, def.JetStream.Limits.DefaultMaxConsumers)
	orDefault(&o.JetStream.SyncInterval, def.JetStream.SyncInterval)
	if !o.NoSystemAccount {
		orDefault(&o.SystemAccount, def.SystemAccount)
	} else {
		o.SystemAccount = ""
	}
	if p := &o.Monitoring.HTTPBasePath; *p == "" || (*p)[0] != '/' {
		*p = "/" + *p
	}
	orDefault(&o.Monitoring.HTTPHost, o.Host)
	orDefault(&o.Cluster.Compression.Mode, def.Cluster.Compression.Mode)
	if o.Leaf.Compression.Mode == options.CompressionUnset {
		o.Leaf.Compression = def.Leaf.Compression
	}
	orDefault(&o.Cluster.Host, options.DefaultHost)
	orDefault(&o.Gateway.Host, options.DefaultHost)
	orDefault(&o.Leaf.Host, options.DefaultHost)
	orDefault(&o.Websocket.Host, options.DefaultHost)
	orDefault(&o.MQTT.Host, options.DefaultHost)
}

func orDefault[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// hostPort sets an address from a port or from "host:port".
func hostPort[T any](host func(*T) *string, port func(*T) *int) conf.Setter[T] {
	return func(d *conf.Decoder, _ string, v *conf.Value, into *T) {
		switch v.Kind {
		case conf.Int:
			*port(into) = int(v.Num)
		case conf.String:
			h, p, err := net.SplitHostPort(v.Text)
			if err != nil {
				d.Errorf(v, "could not parse address string %q", v.Text)
				return
			}
			n, err := strconv.Atoi(p)
			if err != nil {
				d.Errorf(v, "could not parse port %q", p)
				return
			}
			*host(into), *port(into) = h, n
		default:
			d.Errorf(v, "expected port or host:port, got %s", v.GoType())
		}
	}
}

// listenFields are the fields of an address: listen, port, host.
func listenFields[T any](what, defaultPort string, host func(*T) *string, port func(*T) *int) []conf.Field[T] {
	return []conf.Field[T]{
		{Key: "listen", Type: "port or host:port", Doc: "Address of " + what + ": sets host and port.", Set: hostPort(host, port)},
		{Key: "port", Type: "integer", Default: defaultPort, Doc: "Port of " + what + "; -1 lets the system choose.", Set: conf.Number(port)},
		{Key: "host", Aliases: []string{"net"}, Type: "string", Default: options.DefaultHost, Doc: "Host or IP address to listen on.", Set: conf.Str(host)},
	}
}

// texts reads a string or a list of strings; messages call it what. ok is false after an error.
func texts(d *conf.Decoder, v *conf.Value, what string) (list []string, ok bool) {
	switch v.Kind {
	case conf.String:
		return []string{v.Text}, true
	case conf.List:
		list = make([]string, 0, len(v.List))
		for _, e := range v.List {
			if e.Kind != conf.String {
				d.Errorf(e, "error parsing %s: unsupported type in array %s", what, e.GoType())
				return nil, false
			}
			list = append(list, e.Text)
		}
		return list, true
	}
	d.Errorf(v, "error parsing %s: unsupported type %s", what, v.GoType())
	return nil, false
}

// seconds reads a number of seconds or a duration string; fail notes what is wrong.
func seconds(v *conf.Value, fail func(problem string)) (t time.Duration, ok bool) {
	var s float64
	switch v.Kind {
	case conf.Int:
		s = float64(v.Num)
	case conf.Float:
		s = v.Real
	case conf.String:
		t, err := time.ParseDuration(v.Text)
		if err != nil {
			fail(err.Error())
			return 0, false
		}
		return t, true
	default:
		fail("wrong type")
		return 0, false
	}
	if limit := float64(1<<63-1) / float64(time.Second); s >= limit || s <= -limit {
		fail("value is too big")
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

// strictSpan sets a duration that is written as a string only; messages call it name.
func strictSpan[T any](name string, at func(*T) *time.Duration) conf.Setter[T] {
	return func(d *conf.Decoder, _ string, v *conf.Value, into *T) {
		s, ok := d.String(v)
		if !ok {
			return
		}
		t, err := time.ParseDuration(s)
		if err != nil {
			d.Errorf(v, "%s%v", name, err)
			return
		}
		*at(into) = t
	}
}

// writeTimeout sets what happens when a write hits the deadline.
func writeTimeout[T any](at func(*T) *options.WriteTimeoutPolicy) conf.Setter[T] {
	return func(d *conf.Decoder, _ string, v *conf.Value, into *T) {
		s, ok := d.String(v)
		if !ok {
			return
		}
		for _, p := range []options.WriteTimeoutPolicy{options.WriteTimeoutDefault, options.WriteTimeoutClose, options.WriteTimeoutRetry} {
			if s == p.String() {
				*at(into) = p
				return
			}
		}
		d.Errorf(v, "write_timeout must be 'default', 'close' or 'retry'")
	}
}

// writeFields are the fields about writes that take too long.
func writeFields[T any](def string, deadline func(*T) *time.Duration, policy func(*T) *options.WriteTimeoutPolicy, reload conf.Reload) []conf.Field[T] {
	return []conf.Field[T]{
		{Key: "write_deadline", Type: "duration", Default: def, Reload: reload, Doc: "Longest time that one write to a connection may take.", Set: conf.Span("write_deadline", deadline)},
		{Key: "write_timeout", Type: "`default`, `close` or `retry`", Default: "default", Doc: "What happens to a connection whose write hits the deadline: it is closed, or the write goes on. The default closes clients and retries for peers.", Set: writeTimeout(policy)},
	}
}

// noSpaces notes an error and reports false if a name has spaces.
func noSpaces(d *conf.Decoder, v *conf.Value, what, name string) bool {
	if strings.Contains(name, " ") {
		d.Errorf(v, "%s name cannot contain spaces", what)
		return false
	}
	return true
}

// words joins names as messages list them, each in quotes.
func words(names []string) string {
	return fmt.Sprintf("%q", names)
}
