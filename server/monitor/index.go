package monitor

import (
	"bytes"
	"html/template"
	"net/http"
)

// indexPage lists the endpoints by relative links, so that it works under any base path.
var indexPage = template.Must(template.New("index").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Name}}</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 42rem; padding: 0 1rem }
h1 { font-size: 1.4rem; margin: 0 }
p { margin: .2rem 0 1.2rem; opacity: .7 }
li { margin: .3rem 0 }
code { opacity: .6; margin-left: .5rem }
</style>
</head>
<body>
<h1>{{.Name}}</h1>
<p>v{{.Version}} &middot; {{.ID}}</p>
<ul>
{{range .Links}}<li><a href="{{.Href}}">{{.Label}}</a>{{if .Path}} <code>{{.Path}}</code>{{end}}</li>
{{end}}</ul>
</body>
</html>
`))

type indexLink struct{ Href, Label, Path string }

var indexLinks = []indexLink{
	{"./dashboard/", "Dashboard", "/dashboard/"},
	{"./varz", "General", "/varz"},
	{"./jsz", "JetStream", "/jsz"},
	{"./connz", "Connections", "/connz"},
	{"./accountz", "Accounts", "/accountz"},
	{"./accstatz", "Account Stats", "/accstatz"},
	{"./subsz", "Subscriptions", "/subsz"},
	{"./routez", "Routes", "/routez"},
	{"./leafz", "LeafNodes", "/leafz"},
	{"./gatewayz", "Gateways", "/gatewayz"},
	{"./raftz", "Raft Groups", "/raftz"},
	{"./healthz", "Health Probe", "/healthz"},
	{"./debug/vars", "Expvar", "/debug/vars"},
	{"./metrics", "Metrics", "/metrics"},
	{"https://docs.nats.io/running-a-nats-service/nats_admin/monitoring", "Help", ""},
}

func (m *Monitor) indexHTTP(w http.ResponseWriter, _ *http.Request) {
	id := m.src.Identity()
	var b bytes.Buffer
	if err := indexPage.Execute(&b, struct {
		Identity
		Links []indexLink
	}{id, indexLinks}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
