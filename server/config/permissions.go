package config

import (
	"fmt"
	"strings"
	"time"

	"godwit/conf"
	"godwit/protocol/subject"
	"godwit/server/options"
)

// permissionsBlock declares a permissions map.
func permissionsBlock() *conf.Block[options.Permissions] {
	return conf.NewBlock(conf.Block[options.Permissions]{
		Name:    "permissions",
		Doc:     "Which subjects may be published and subscribed to. A part that is missing restricts nothing.",
		Unknown: func(key string) string { return fmt.Sprintf("Unknown field %q parsing permissions", key) },
		NotMap: func(d *conf.Decoder, v *conf.Value) {
			d.Errorf(v, "Expected permissions to be a map/struct, got %v", v)
		},
	},
		conf.Field[options.Permissions]{Key: "publish", Aliases: []string{"pub", "import"}, Type: "subject, list of subjects, or map", Block: "subject permissions", Reload: conf.Live, Doc: "Subjects that may be published to. Denied ones beat allowed ones.",
			Set: subjectPermission(false, func(p *options.Permissions) **options.SubjectPermission { return &p.Publish })},
		conf.Field[options.Permissions]{Key: "subscribe", Aliases: []string{"sub", "export"}, Type: "subject, list of subjects, or map", Block: "subject permissions", Reload: conf.Live, Doc: "Subjects that may be subscribed to. A queue name may follow the subject, after a blank.",
			Set: subjectPermission(true, func(p *options.Permissions) **options.SubjectPermission { return &p.Subscribe })},
		conf.Field[options.Permissions]{Key: "allow_responses", Aliases: []string{"publish_allow_responses"}, Type: "boolean or map", Block: "allow_responses", Reload: conf.Live, Doc: "Permit publishing to the reply subjects of received messages.", Set: setResponses},
	)
}

// decodePermissions returns nil after an error.
func decodePermissions(d *conf.Decoder, v *conf.Value) *options.Permissions {
	p := &options.Permissions{}
	before := d.Count()
	if !permissionsBlock().Decode(d, v, p) || d.Count() > before {
		return nil
	}
	return p
}

// subjectPermission sets one direction; queues says that queue names may follow.
func subjectPermission(queues bool, at func(*options.Permissions) **options.SubjectPermission) conf.Setter[options.Permissions] {
	return func(d *conf.Decoder, _ string, v *conf.Value, p *options.Permissions) {
		sp := &options.SubjectPermission{}
		*at(p) = sp
		if v.Kind != conf.MapKind {
			sp.Allow = subjects(d, v, queues)
			return
		}
		subjectPermissionBlock(queues).Decode(d, v, sp)
	}
}

// subjectPermissionBlock declares the map of one direction.
func subjectPermissionBlock(queues bool) *conf.Block[options.SubjectPermission] {
	type P = options.SubjectPermission
	return conf.NewBlock(conf.Block[P]{
		Name: "subject permissions", Doc: "Subjects of one direction.",
		Unknown: func(key string) string {
			return fmt.Sprintf("Unknown field name %q parsing subject permissions, only 'allow' or 'deny' are permitted", key)
		},
	},
		conf.Field[P]{Key: "allow", Type: "subject or list of subjects", Reload: conf.Live, Doc: "What is allowed; default is everything.", Set: func(d *conf.Decoder, _ string, v *conf.Value, p *P) {
			p.Allow = subjects(d, v, queues)
		}},
		conf.Field[P]{Key: "deny", Type: "subject or list of subjects", Reload: conf.Live, Doc: "What is denied although it is allowed.", Set: func(d *conf.Decoder, _ string, v *conf.Value, p *P) {
			p.Deny = subjects(d, v, queues)
		}},
	)
}

// subjects reads a subject or a list of subjects for permissions.
func subjects(d *conf.Decoder, v *conf.Value, queues bool) (list []string) {
	switch v.Kind {
	case conf.String:
		list = []string{v.Text}
	case conf.List:
		list = make([]string, 0, len(v.List))
		for _, e := range v.List {
			if e.Kind != conf.String {
				d.Errorf(e, "Subject in permissions array cannot be cast to string")
				return nil
			}
			list = append(list, e.Text)
		}
	default:
		d.Errorf(v, "Expected subject permissions to be a subject, or array of subjects, got %s", v.GoType())
		return nil
	}
	for _, s := range list {
		if err := checkSubject(s, queues); err != nil {
			d.Errorf(v, "%v", err)
			return nil
		}
	}
	return list
}

// checkSubject checks a subject and, if queues is set, a queue name behind a blank.
func checkSubject(s string, queues bool) error {
	name, queue, found := strings.Cut(s, " ")
	if !found || !queues || strings.Contains(queue, " ") {
		name, queue = s, ""
	}
	if !subject.Valid(name) || strings.ContainsAny(name, " \t\r\n\f") {
		return fmt.Errorf("subject %q is not a valid subject", s)
	}
	if queue != "" && !subject.Valid(queue) {
		return fmt.Errorf("queue %q is not a valid queue", queue)
	}
	return nil
}

// responsesBlock declares an allow_responses map.
func responsesBlock() *conf.Block[options.ResponsePermission] {
	return conf.NewBlock(conf.Block[options.ResponsePermission]{
		Name:    "allow_responses",
		Doc:     "Bounds of the permission to reply.",
		Unknown: func(key string) string { return fmt.Sprintf("Unknown field %q parsing permissions", key) },
	},
		conf.Field[options.ResponsePermission]{Key: "max", Aliases: []string{"max_msgs", "max_messages", "max_responses"}, Type: "integer", Default: "1", Reload: conf.Live, Doc: "Replies to one message; negative is unlimited.",
			Set: conf.Number(func(r *options.ResponsePermission) *int { return &r.MaxMsgs })},
		conf.Field[options.ResponsePermission]{Key: "expires", Aliases: []string{"expiration", "ttl"}, Type: "duration, as a string", Default: "2m", Reload: conf.Live, Doc: "Time in which to reply; negative is for ever.", Set: func(d *conf.Decoder, _ string, v *conf.Value, r *options.ResponsePermission) {
			if v.Kind != conf.String {
				d.Errorf(v, "error parsing expires, not a duration string")
				return
			}
			t, err := time.ParseDuration(v.Text)
			if err != nil {
				d.Errorf(v, "error parsing expires: %v", err)
				return
			}
			r.Expires = t
		}},
	)
}

func setResponses(d *conf.Decoder, _ string, v *conf.Value, p *options.Permissions) {
	r := &options.ResponsePermission{}
	switch v.Kind {
	case conf.Bool:
		if !v.Flag {
			return
		}
	case conf.MapKind:
		responsesBlock().Decode(d, v, r)
	default:
		d.Errorf(v, "error parsing response permissions, expected a boolean or a map")
		return
	}
	orDefault(&r.MaxMsgs, options.DefaultResponseMaxMsgs)
	orDefault(&r.Expires, options.DefaultResponseExpires)
	p.Response = r
}
