package config

import (
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// websocketBlock declares the websocket block.
func websocketBlock() *conf.Block[options.Websocket] {
	type W = options.Websocket
	text := func(key, doc string, at func(*W) *string) conf.Field[W] {
		return conf.Field[W]{Key: key, Type: "string", Doc: doc, Set: conf.Str(at)}
	}
	flag := func(key, doc string, at func(*W) *bool, aliases ...string) conf.Field[W] {
		return conf.Field[W]{Key: key, Aliases: aliases, Type: "boolean", Default: "false", Doc: doc, Set: conf.Flag(at)}
	}
	return conf.NewBlock(conf.Block[W]{
		Name: "websocket", Doc: "Listener for WebSocket clients. It needs tls or no_tls.",
		NotMap: mustBeMap("Expected websocket to be a map, got %s"),
	}, append(listenFields("the WebSocket listener", "0", func(w *W) *string { return &w.Host }, func(w *W) *int { return &w.Port }),
		text("advertise", "Address that clients are told.", func(w *W) *string { return &w.Advertise }),
		flag("no_tls", "Listen without TLS.", func(w *W) *bool { return &w.NoTLS }),
		conf.Field[W]{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of the listener.", Set: func(d *conf.Decoder, _ string, v *conf.Value, w *W) { w.TLS = decodeTLS(d, v, tlsPlain) }},
		flag("same_origin", "The page must come from the same host.", func(w *W) *bool { return &w.SameOrigin }),
		conf.Field[W]{Key: "allowed_origins", Aliases: []string{"allowed_origin", "allow_origins", "allow_origin", "origins", "origin"}, Type: "string or list of strings", Doc: "Origins from which pages may connect; default is all.", Set: func(d *conf.Decoder, _ string, v *conf.Value, w *W) {
			w.AllowedOrigins, _ = texts(d, v, "allowed origins")
		}},
		conf.Field[W]{Key: "handshake_timeout", Type: "duration or seconds", Doc: "Time for the WebSocket handshake; default is no limit.", Set: func(d *conf.Decoder, _ string, v *conf.Value, w *W) {
			if v.Kind != conf.Int && v.Kind != conf.String {
				d.Errorf(v, "error parsing handshake timeout: unsupported type %s", v.GoType())
				return
			}
			if t, ok := seconds(v, func(problem string) { d.Errorf(v, "%s", problem) }); ok {
				w.HandshakeTimeout = t
			}
		}},
		flag("compression", "Offer compression of frames.", func(w *W) *bool { return &w.Compression }, "compress"),
		conf.Field[W]{Key: "authorization", Aliases: []string{"authentication"}, Type: "map", Block: "listener authorization", Doc: "Single user or token for this listener, instead of the server's.", Set: listenerAuth(func(w *W) *options.Authorization { return &w.Authorization })},
		text("jwt_cookie", "Cookie with a user JWT.", func(w *W) *string { return &w.JWTCookie }),
		text("user_cookie", "Cookie with a user name.", func(w *W) *string { return &w.UsernameCookie }),
		text("pass_cookie", "Cookie with a password.", func(w *W) *string { return &w.PasswordCookie }),
		text("token_cookie", "Cookie with a token.", func(w *W) *string { return &w.TokenCookie }),
		text("no_auth_user", "User of clients without credentials on this listener.", func(w *W) *string { return &w.NoAuthUser }),
		conf.Field[W]{Key: "headers", Type: "map of strings", Doc: "HTTP headers added to the answer of a handshake.", Set: setWebsocketHeaders},
		conf.Field[W]{Key: "ping_interval", Type: "duration", Doc: "Time without traffic after which a client is pinged; default is that of other clients.", Set: conf.Span("ping_interval", func(w *W) *time.Duration { return &w.PingInterval })},
	)...)
}

func setWebsocketHeaders(d *conf.Decoder, _ string, v *conf.Value, w *options.Websocket) {
	if v.Kind != conf.MapKind {
		d.Errorf(v, "error parsing headers: unsupported type %s", v.GoType())
		return
	}
	w.Headers = make(map[string]string, len(v.Map.Members))
	for _, m := range v.Map.Members {
		if m.Value.Kind != conf.String {
			d.Errorf(m.Value, "error parsing header key %s: unsupported type %s", m.Key, m.Value.GoType())
			continue
		}
		w.Headers[m.Key] = m.Value.Text
	}
}

// listenerAuthBlock declares the authorization block of the WebSocket and MQTT listeners.
func listenerAuthBlock() *conf.Block[options.Authorization] {
	type A = options.Authorization
	return conf.NewBlock(conf.Block[A]{Name: "listener authorization", Doc: "Credentials of one listener."},
		conf.Field[A]{Key: "user", Aliases: []string{"username"}, Type: "string", Doc: "Name of the single user.", Set: conf.Str(func(a *A) *string { return &a.Username })},
		conf.Field[A]{Key: "pass", Aliases: []string{"password"}, Secret: true, Type: "string", Doc: "Its password.", Set: conf.Str(func(a *A) *string { return &a.Password })},
		conf.Field[A]{Key: "token", Secret: true, Type: "string", Doc: "Token.", Set: conf.Str(func(a *A) *string { return &a.Token })},
		conf.Field[A]{Key: "timeout", Type: "seconds or duration", Doc: "Time for a login; default is the server's.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			// The original takes anything here and passes over what is no time.
			t, ok := seconds(v, func(problem string) { d.Misused(v, "timeout", "it is no time: %s", problem) })
			if ok {
				a.Timeout = t
			}
		}},
	)
}

func listenerAuth[T any](at func(*T) *options.Authorization) conf.Setter[T] {
	return func(d *conf.Decoder, _ string, v *conf.Value, into *T) {
		listenerAuthBlock().Decode(d, v, at(into))
	}
}
