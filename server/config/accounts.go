package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nkeys"

	"godwit/conf"
	"godwit/protocol/subject"
	"godwit/server/options"
)

// accountBuild is an account in the making.
type accountBuild struct {
	*options.Account
	build    *build
	users    []*options.User
	usersAt  *conf.Value
	imported map[string]*options.Import // service imports by exporter and local subject
}

// accountBlock declares one account.
func accountBlock() *conf.Block[accountBuild] {
	type A = accountBuild
	return conf.NewBlock(conf.Block[A]{
		Name:   "accounts",
		Doc:    "A map from names to accounts, or a list of names. `$G` is the account of everybody else and can not be declared. Keys of one account:",
		NotMap: mustBeWords("Expected map entries for accounts"),
	},
		conf.Field[A]{Key: "nkey", Type: "string", Reload: conf.Live, Doc: "Public account nkey.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			if v.Kind != conf.String || !nkeys.IsValidPublicAccountKey(v.Text) {
				d.Errorf(v, "Not a valid public nkey for an account: %q", v.String())
				return
			}
			a.Nkey = v.Text
		}},
		conf.Field[A]{Key: "users", Type: "list of maps", Block: "user", Reload: conf.Live, Doc: "Users of the account.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			a.users, a.usersAt = decodeUsers(d, v), v
		}},
		conf.Field[A]{Key: "default_permissions", Type: "map", Block: "permissions", Reload: conf.Live, Doc: "Permissions of users without their own.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			a.Defaults = decodePermissions(d, v)
		}},
		conf.Field[A]{Key: "imports", Type: "list of maps", Block: "import", Reload: conf.Live, Doc: "What the account takes from others.", Set: setImports},
		conf.Field[A]{Key: "exports", Type: "list of maps", Block: "export", Reload: conf.Live, Doc: "What the account offers to others.", Set: setExports},
		conf.Field[A]{Key: "mappings", Aliases: []string{"maps"}, Type: "map", Block: "mappings", Named: true, Reload: conf.Live, Doc: "Subject mappings.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			a.Mappings = decodeMappings(d, v)
		}},
		conf.Field[A]{Key: "jetstream", Type: "boolean, `enabled`, `disabled` or map", Block: "account jetstream", Reload: conf.Live, Doc: "Streams of the account.", Set: setAccountJetStream},
		conf.Field[A]{Key: "limits", Type: "map", Block: "account limits", Reload: conf.Live, Doc: "Limits of the account's connections.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			accountLimitsBlock().Decode(d, v, &a.Limits)
		}},
		conf.Field[A]{Key: "quota", Type: "map", Block: "quota", Reload: conf.Live, Doc: "What the account's clients may publish per second. Not in nats-server.", Set: setQuota(func(a *A) **options.Quota { return &a.Quota })},
		conf.Field[A]{Key: "msg_trace", Aliases: []string{"trace_dest"}, Type: "subject or map", Block: "msg_trace", Reload: conf.Live, Doc: "Where traces of messages go that ask for them in a trace header.", Set: setMsgTrace},
	)
}

// mustBeWords returns a NotMap that notes an error in fixed words.
func mustBeWords(text string) func(*conf.Decoder, *conf.Value) {
	return func(d *conf.Decoder, v *conf.Value) { d.Errorf(v, "%s", text) }
}

// setAccounts decodes the accounts block of the server.
func setAccounts(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	switch v.Kind {
	case conf.List:
		for _, e := range v.List {
			name, ok := d.String(e)
			switch {
			case !ok:
			case name == options.DefaultGlobalAccount:
				d.Errorf(e, "%q is a Reserved Account", name)
			case b.account(name) != nil:
				d.Errorf(e, "Duplicate Account Entry: %s", name)
			default:
				b.Accounts = append(b.Accounts, newAccount(name))
			}
		}
	case conf.MapKind:
		for _, m := range v.Map.Members {
			if m.Value.Kind == conf.MapKind && m.Key == options.DefaultGlobalAccount {
				d.Errorf(m.Value, "%q is a Reserved Account", m.Key)
				continue
			}
			a := &accountBuild{Account: newAccount(m.Key), build: b, imported: make(map[string]*options.Import)}
			if !accountBlock().Decode(d, m.Value, a) {
				continue
			}
			b.Accounts = append(b.Accounts, a.Account)
			b.takeUsers(a)
		}
	}
}

func newAccount(name string) *options.Account {
	return &options.Account{Name: name, Limits: options.NoAccountLimits()}
}

// account returns the account of that name, or nil.
func (b *build) account(name string) *options.Account {
	if i := slices.IndexFunc(b.Accounts, func(a *options.Account) bool { return a.Name == name }); i >= 0 {
		return b.Accounts[i]
	}
	return nil
}

// takeUsers moves the users of an account to where all users are.
func (b *build) takeUsers(a *accountBuild) {
	for _, u := range a.users {
		u.Account = a.Name
		if u.Permissions == nil {
			u.Permissions = a.Defaults
		}
	}
	if len(a.users) == 0 {
		return
	}
	switch {
	case b.Authorization.Username != "" || b.Authorization.Password != "":
		b.decoder.Errorf(a.usersAt, "Can not have a single user/pass and accounts")
	case b.Authorization.Token != "":
		b.decoder.Errorf(a.usersAt, "Can not have a token and accounts")
	default:
		b.addUsers(a.usersAt, a.users)
	}
}

// accountLimitsBlock declares the limits of an account.
func accountLimitsBlock() *conf.Block[options.AccountLimits] {
	type L = options.AccountLimits
	return conf.NewBlock(conf.Block[L]{
		Name: "account limits", Doc: "Limits of an account's connections; -1 is unlimited.",
		Unknown: func(key string) string { return fmt.Sprintf("Unknown field %q parsing account limits", key) },
		NotMap: func(d *conf.Decoder, v *conf.Value) {
			d.Errorf(v, "Expected account limits to be a map/struct, got %v", v)
		},
	},
		conf.Field[L]{Key: "max_connections", Aliases: []string{"max_conn"}, Type: "integer", Default: "-1", Reload: conf.Live, Doc: "Clients of the account in the whole cluster.", Set: conf.Number(func(l *L) *int32 { return &l.MaxConn })},
		conf.Field[L]{Key: "max_subscriptions", Aliases: []string{"max_subs"}, Type: "integer", Default: "-1", Reload: conf.Live, Doc: "Subscriptions of one connection.", Set: conf.Number(func(l *L) *int32 { return &l.MaxSubs })},
		conf.Field[L]{Key: "max_payload", Aliases: []string{"max_pay"}, Type: "integer", Unit: "bytes", Default: "-1", Reload: conf.Live, Doc: "Largest message.", Set: conf.Number(func(l *L) *int32 { return &l.MaxPayload })},
		conf.Field[L]{Key: "max_leafnodes", Aliases: []string{"max_leafs"}, Type: "integer", Default: "-1", Reload: conf.Live, Doc: "Leaf node connections.", Set: conf.Number(func(l *L) *int32 { return &l.MaxLeafs })},
	)
}

// accountJetStreamBlock declares the limits of an account's streams.
func accountJetStreamBlock() *conf.Block[options.AccountJetStream] {
	type J = options.AccountJetStream
	size := func(key, doc string, at func(*J) *int64, aliases ...string) conf.Field[J] {
		return conf.Field[J]{Key: key, Aliases: aliases, Type: "integer", Unit: "bytes", Reload: conf.Live, Doc: doc, Set: countSetter(at)}
	}
	count := func(key, doc string, at func(*J) *int, aliases ...string) conf.Field[J] {
		return conf.Field[J]{Key: key, Aliases: aliases, Type: "integer", Default: "-1", Reload: conf.Live, Doc: doc, Set: countSetter(at)}
	}
	return conf.NewBlock(conf.Block[J]{Name: "account jetstream", Doc: "Limits of an account's streams; -1 is unlimited."},
		size("max_memory", "All its memory streams together.", func(j *J) *int64 { return &j.MaxMemory }, "max_mem", "mem", "memory"),
		size("max_file", "All its file streams together.", func(j *J) *int64 { return &j.MaxStore }, "max_store", "max_disk", "store", "disk"),
		count("max_streams", "Streams.", func(j *J) *int { return &j.MaxStreams }, "streams"),
		count("max_consumers", "Consumers.", func(j *J) *int { return &j.MaxConsumers }, "consumers"),
		conf.Field[J]{Key: "max_bytes_required", Aliases: []string{"max_stream_bytes", "max_bytes"}, Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Streams must set max_bytes.", Set: func(d *conf.Decoder, key string, v *conf.Value, j *J) {
			if v.Kind != conf.Bool {
				d.Errorf(v, "Expected a parseable bool for %q, got %v", key, v)
				return
			}
			j.MaxBytesRequired = v.Flag
		}},
		size("mem_max_stream_bytes", "Largest max_bytes of one memory stream; 0 is unlimited.", func(j *J) *int64 { return &j.MemoryMaxStreamBytes }, "memory_max_stream_bytes"),
		size("disk_max_stream_bytes", "Largest max_bytes of one file stream; 0 is unlimited.", func(j *J) *int64 { return &j.StoreMaxStreamBytes }, "store_max_stream_bytes"),
		count("max_ack_pending", "Largest max_ack_pending of one consumer.", func(j *J) *int { return &j.MaxAckPending }),
		conf.Field[J]{Key: "cluster_traffic", Type: "`system` or `owner`", Default: "system", Reload: conf.Live, Doc: "In which account the replication of its streams travels.", Set: func(d *conf.Decoder, key string, v *conf.Value, j *J) {
			switch {
			case v.Kind != conf.String:
				d.Errorf(v, "Expected either 'system' or 'owner' string value for %q, got %v", key, v)
			case v.Text == "owner", v.Text == "system", v.Text == "":
				j.TrafficInOwner = v.Text == "owner"
			default:
				d.Errorf(v, "Expected 'system' or 'owner' string value for %q, got %v", key, v)
			}
		}},
	)
}

// countSetter sets a whole number in the words of limits.
func countSetter[T any, N ~int | ~int64](at func(*T) *N) conf.Setter[T] {
	return func(d *conf.Decoder, key string, v *conf.Value, into *T) {
		if v.Kind != conf.Int {
			d.Errorf(v, "Expected a parseable size for %q, got %v", key, v)
			return
		}
		*at(into) = N(v.Num)
	}
}

// onOff reads the words that switch streams on and off.
func onOff(d *conf.Decoder, v *conf.Value) (on, ok bool) {
	switch strings.ToLower(v.Text) {
	case "enabled", "enable":
		return true, true
	case "disabled", "disable":
		return false, true
	}
	d.Errorf(v, "Expected 'enabled' or 'disabled' for string value, got '%s'", v.Text)
	return false, false
}

func setAccountJetStream(d *conf.Decoder, _ string, v *conf.Value, a *accountBuild) {
	on := true
	limits := options.UnlimitedJetStream()
	switch v.Kind {
	case conf.Bool:
		on = v.Flag
	case conf.String:
		on, _ = onOff(d, v)
	case conf.MapKind:
		accountJetStreamBlock().Decode(d, v, limits)
	default:
		d.Errorf(v, "Expected map, bool or string to define JetStream, got %s", v.GoType())
		return
	}
	if a.JetStream = nil; on {
		a.JetStream = limits
	}
}

// msgTraceBlock declares the map under key, which is msg_trace or its alias.
func msgTraceBlock(key string) *conf.Block[options.MsgTrace] {
	type T = options.MsgTrace
	return conf.NewBlock(conf.Block[T]{
		Name: "msg_trace", Doc: "Where traces go.",
		Unknown: func(unknown string) string {
			return fmt.Sprintf("Unknown field %q parsing account message trace map/struct %q", unknown, key)
		},
	},
		conf.Field[T]{Key: "dest", Type: "subject", Reload: conf.Live, Doc: "Subject to which traces are published.", Set: func(d *conf.Decoder, key string, v *conf.Value, t *T) {
			if v.Kind != conf.String {
				d.Errorf(v, "Field %q should be a string, got %s", key, v.GoType())
				return
			}
			setTraceDest(d, v, t)
		}},
		conf.Field[T]{Key: "sampling", Type: "integer or percentage", Default: "100", Bounds: "1 to 100", Reload: conf.Live, Doc: "Share of the messages that are traced.", Set: setTraceSampling},
	)
}

func setTraceDest(d *conf.Decoder, v *conf.Value, t *options.MsgTrace) {
	if !subject.ValidLiteral(v.Text) {
		d.Errorf(v, "Trace destination %q is not valid", v.Text)
		return
	}
	t.Dest = v.Text
}

func setTraceSampling(d *conf.Decoder, key string, v *conf.Value, t *options.MsgTrace) {
	n := v.Num
	switch v.Kind {
	case conf.Int:
	case conf.String:
		parsed, err := strconv.Atoi(strings.TrimSuffix(v.Text, "%"))
		if err != nil {
			d.Errorf(v, "Invalid trace destination sampling value %q", v.Text)
			return
		}
		n = int64(parsed)
	default:
		d.Errorf(v, "Trace destination sampling field %q should be an integer or a percentage, got %s", key, v.GoType())
		return
	}
	if n < 1 || n > 100 {
		d.Errorf(v, "Ttrace destination sampling value %d is invalid, needs to be [1..100]", n)
		return
	}
	t.Sampling = int(n)
}

func setMsgTrace(d *conf.Decoder, key string, v *conf.Value, a *accountBuild) {
	t := &options.MsgTrace{}
	switch v.Kind {
	case conf.String:
		setTraceDest(d, v, t)
	case conf.MapKind:
		before := d.Count()
		msgTraceBlock(key).Decode(d, v, t)
		if t.Dest == "" && t.Sampling != 0 && d.Count() == before {
			d.Warnf(v, "Trace destination sampling ignored since no destination was set")
		}
	default:
		d.Errorf(v, "Expected account message trace %q to be a string or a map/struct, got %s", key, v.GoType())
		return
	}
	if t.Dest != "" {
		orDefault(&t.Sampling, 100)
		a.Trace = t
	}
}
