package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// exchange is an import or an export and where it stands.
type exchange struct {
	account *options.Account
	imp     *options.Import
	exp     *options.Export
	at      *conf.Value
}

// exportBuild is an export in the making.
type exportBuild struct {
	options.Export
	seen     bool        // a stream or a service was named
	response *conf.Value // where the response type or threshold was given
	latency  *conf.Value
	trace    *conf.Value
}

// exportBlock declares an export.
func exportBlock() *conf.Block[exportBuild] {
	type E = exportBuild
	return conf.NewBlock(conf.Block[E]{
		Name: "export", Doc: "A stream (messages) or a service (requests) offered to other accounts.",
		NotMap: mustBeMap("Export Items should be a map with type entry, got %s"),
	},
		conf.Field[E]{Key: "stream", Type: "subject", Reload: conf.Live, Doc: "Subject of a stream.", Set: setExported(options.StreamExchange, "stream")},
		conf.Field[E]{Key: "service", Type: "subject", Reload: conf.Live, Doc: "Subject of a service.", Set: setExported(options.ServiceExchange, "service")},
		conf.Field[E]{Key: "accounts", Type: "list of strings", Reload: conf.Live, Doc: "Only these accounts may import it; default is all.", Set: func(d *conf.Decoder, _ string, v *conf.Value, e *E) {
			list, ok := d.List(v)
			e.Private = ok
			for _, item := range list {
				if s, ok := d.String(item); ok {
					e.Accounts = append(e.Accounts, s)
				}
			}
		}},
		conf.Field[E]{Key: "response_type", Aliases: []string{"response"}, Type: "`single` (`singleton`), `stream` or `chunk` (`chunked`)", Default: "single", Reload: conf.Live, Doc: "How many responses a service gives to one request.", Set: setResponseType},
		conf.Field[E]{Key: "threshold", Aliases: []string{"response_threshold", "response_max_time", "response_time"}, Type: "duration, as a string", Default: "2m", Reload: conf.Live, Doc: "How long a response of a service is awaited.", Set: func(d *conf.Decoder, _ string, v *conf.Value, e *E) {
			if v.Kind != conf.String {
				d.Errorf(v, "Expected response threshold to be a parseable time duration, got %s", v.GoType())
				return
			}
			t, err := time.ParseDuration(v.Text)
			if err != nil {
				d.Errorf(v, "Expected response threshold to be a parseable time duration, got %q", v.Text)
				return
			}
			e.Threshold, e.response = t, v
		}},
		conf.Field[E]{Key: "latency", Type: "subject or map", Block: "latency", Reload: conf.Live, Doc: "Measurements of a service.", Set: setLatency},
		conf.Field[E]{Key: "account_token_position", Type: "integer", Reload: conf.Live, Doc: "Which token of the subject, a `*`, must be the importing account's name.", Set: func(d *conf.Decoder, _ string, v *conf.Value, e *E) {
			if n, ok := d.Int(v); ok {
				e.TokenPosition = int(n)
			}
		}},
		conf.Field[E]{Key: "allow_trace", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Traces of requests to a service go on into this account.", Set: func(d *conf.Decoder, _ string, v *conf.Value, e *E) {
			if on, ok := d.Bool(v); ok {
				e.AllowTrace, e.trace = on, v
			}
		}},
	)
}

func setExported(kind options.ExchangeKind, what string) conf.Setter[exportBuild] {
	return func(d *conf.Decoder, _ string, v *conf.Value, e *exportBuild) {
		if v.Kind != conf.String {
			d.Errorf(v, "Expected %s name to be string, got %s", what, v.GoType())
			return
		}
		if e.seen && e.Kind != kind {
			other := "a service"
			if kind == options.ServiceExchange {
				other = "a stream"
			}
			d.Errorf(v, "Detected %s %q but already saw %s", what, v.Text, other)
			return
		}
		e.Kind, e.Subject, e.seen = kind, v.Text, true
	}
}

func setResponseType(d *conf.Decoder, _ string, v *conf.Value, e *exportBuild) {
	if v.Kind != conf.String {
		d.Errorf(v, "Expected response type to be string, got %s", v.GoType())
		return
	}
	switch strings.ToLower(v.Text) {
	case "single", "singleton":
		e.Response = options.Singleton
	case "stream":
		e.Response = options.Streamed
	case "chunk", "chunked":
		e.Response = options.Chunked
	default:
		d.Errorf(v, "Unknown response type: %q", v.Text)
		return
	}
	e.response = v
}

// latencyBlock declares a latency map. Unknown keys in it mean nothing.
func latencyBlock() *conf.Block[options.ServiceLatency] {
	type L = options.ServiceLatency
	return conf.NewBlock(conf.Block[L]{Name: "latency", Doc: "Measurements of a service.", Lenient: true},
		conf.Field[L]{Key: "subject", Type: "subject", Reload: conf.Live, Doc: "Where measurements are published; required.", Set: func(d *conf.Decoder, _ string, v *conf.Value, l *L) {
			if v.Kind != conf.String {
				d.Errorf(v, "Expected latency subject to be a string, got %s", v.GoType())
				return
			}
			l.Subject = v.Text
		}},
		conf.Field[L]{Key: "sampling", Type: "integer, percentage or `headers`", Default: "100", Bounds: "1 to 100", Reload: conf.Live, Doc: "Share of the requests that are measured; `headers` measures those with a tracing header.", Set: setSampling},
	)
}

func setSampling(d *conf.Decoder, _ string, v *conf.Value, l *options.ServiceLatency) {
	n := v.Num
	switch v.Kind {
	case conf.Int:
	case conf.String:
		if strings.EqualFold(strings.TrimSpace(v.Text), "headers") {
			l.Sampling = 0
			return
		}
		parsed, err := strconv.Atoi(strings.TrimSuffix(v.Text, "%"))
		if err != nil {
			d.Errorf(v, "Failed to parse latency sample: %v", err)
			return
		}
		n = int64(parsed)
	default:
		d.Errorf(v, "Expected latency sample to be a string or map/struct, got %s", v.GoType())
		return
	}
	if n < 1 || n > 100 {
		d.Errorf(v, "bad sampling percentage, should be 1-100")
		return
	}
	l.Sampling = int(n)
}

func setLatency(d *conf.Decoder, _ string, v *conf.Value, e *exportBuild) {
	l := &options.ServiceLatency{Sampling: 100}
	switch v.Kind {
	case conf.String:
		l.Subject = v.Text
	case conf.MapKind:
		before := d.Count()
		latencyBlock().Decode(d, v, l)
		named := slices.ContainsFunc(v.Map.Members, func(m conf.Member) bool { return strings.EqualFold(m.Key, "subject") })
		if !named && d.Count() == before {
			d.Errorf(v, "Latency subject required, but missing")
		}
	default:
		d.Errorf(v, "Expected latency entry to be a map/struct or string, got %s", v.GoType())
		return
	}
	e.Latency, e.latency = l, v
}

func setExports(d *conf.Decoder, _ string, v *conf.Value, a *accountBuild) {
	if v.Kind != conf.List {
		d.Errorf(v, "Exports should be an array, got %s", v.GoType())
		return
	}
	for _, item := range v.List {
		e := &exportBuild{}
		before := d.Count()
		if !exportBlock().Decode(d, item, e) || !e.seen || d.Count() > before {
			continue
		}
		if e.Kind == options.StreamExchange {
			switch {
			case e.response != nil:
				d.Errorf(e.response, "Detected response directive on non-service")
			case e.latency != nil:
				d.Errorf(e.latency, "Detected latency directive on non-service")
			case e.trace != nil && e.AllowTrace:
				d.Errorf(e.trace, "Detected allow_trace directive on non-service")
			}
		}
		export := e.Export
		a.Exports = append(a.Exports, &export)
		a.build.exchanges = append(a.build.exchanges, &exchange{account: a.Account, exp: &export, at: item})
	}
}

// importBuild is an import in the making.
type importBuild struct {
	options.Import
	seen     bool
	prefixAt *conf.Value
	toAt     *conf.Value
	traceAt  *conf.Value
}

// importBlock declares an import.
func importBlock() *conf.Block[importBuild] {
	type I = importBuild
	return conf.NewBlock(conf.Block[I]{
		Name: "import", Doc: "A stream or a service of another account.",
		NotMap: mustBeMap("Import Items should be a map with type entry, got %s"),
	},
		conf.Field[I]{Key: "stream", Type: "map", Block: "import source", Reload: conf.Live, Doc: "Stream of another account.", Set: setImported(options.StreamExchange, "stream", "Stream")},
		conf.Field[I]{Key: "service", Type: "map", Block: "import source", Reload: conf.Live, Doc: "Service of another account.", Set: setImported(options.ServiceExchange, "service", "Service")},
		conf.Field[I]{Key: "prefix", Type: "string", Reload: conf.Live, Doc: "Streams: put in front of the subjects.", Set: func(d *conf.Decoder, _ string, v *conf.Value, i *I) {
			if s, ok := d.String(v); ok {
				i.Prefix, i.prefixAt = s, v
			}
		}},
		conf.Field[I]{Key: "to", Type: "subject", Reload: conf.Live, Doc: "The subject in this account; default is the same.", Set: func(d *conf.Decoder, _ string, v *conf.Value, i *I) {
			if s, ok := d.String(v); ok {
				i.To, i.toAt = s, v
			}
		}},
		conf.Field[I]{Key: "share", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Services: tell the other account who asks.", Set: conf.Flag(func(i *I) *bool { return &i.Share })},
		conf.Field[I]{Key: "allow_trace", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Streams: traces of messages go on into this account.", Set: func(d *conf.Decoder, _ string, v *conf.Value, i *I) {
			if on, ok := d.Bool(v); ok {
				i.AllowTrace, i.traceAt = on, v
			}
		}},
	)
}

// importSourceBlock declares what an import names; messages call it title.
func importSourceBlock(title string) *conf.Block[importBuild] {
	type I = importBuild
	return conf.NewBlock(conf.Block[I]{
		Name: "import source", Doc: "What an import takes.",
		NotMap: mustBeMap(title + " entry should be an account map, got %s"),
	},
		conf.Field[I]{Key: "account", Type: "string", Reload: conf.Live, Doc: "The account that exports it; required.", Set: conf.Str(func(i *I) *string { return &i.Account })},
		conf.Field[I]{Key: "subject", Type: "subject", Reload: conf.Live, Doc: "Its subject there; required.", Set: conf.Str(func(i *I) *string { return &i.Subject })},
	)
}

func setImported(kind options.ExchangeKind, what, title string) conf.Setter[importBuild] {
	source := importSourceBlock(title)
	return func(d *conf.Decoder, _ string, v *conf.Value, i *importBuild) {
		if i.seen && i.Kind != kind {
			other := "service"
			if kind == options.ServiceExchange {
				other = "stream"
			}
			d.Errorf(v, "Detected %s but already saw a %s", what, other)
			return
		}
		i.Kind, i.seen = kind, true
		if source.Decode(d, v, i) && (i.Account == "" || i.Subject == "") {
			d.Errorf(v, "Expect an account name and a subject")
		}
	}
}

func setImports(d *conf.Decoder, _ string, v *conf.Value, a *accountBuild) {
	if v.Kind != conf.List {
		d.Errorf(v, "Imports should be an array, got %s", v.GoType())
		return
	}
	for _, item := range v.List {
		i := &importBuild{}
		before := d.Count()
		if !importBlock().Decode(d, item, i) || !i.seen || d.Count() > before {
			continue
		}
		imp := i.Import
		if imp.Kind == options.ServiceExchange {
			if i.traceAt != nil && imp.AllowTrace {
				d.Errorf(i.traceAt, "Detected allow_trace directive on a non-stream")
				continue
			}
			imp.Prefix = ""
			local := imp.To
			if local == "" {
				local = imp.Subject
			}
			key := imp.Account + " " + local
			if other := a.imported[key]; other != nil {
				d.Errorf(item, "Duplicate service import subject %q, previously used in import for account %q, subject %q", local, other.Account, other.Subject)
				continue
			}
			a.imported[key] = &imp
		}
		a.Imports = append(a.Imports, &imp)
		a.build.exchanges = append(a.build.exchanges, &exchange{account: a.Account, imp: &imp, at: item})
	}
}
