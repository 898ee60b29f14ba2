package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"godwit/conf"
	"godwit/server/options"
)

func TestMonitoringLogin(t *testing.T) {
	o := load(t, `http_authorization { users: [{user: a, password: b}, {token: c}] }`)
	want := &options.MonitoringLogin{Users: []options.MonitoringUser{{Name: "a", Password: "b"}, {Token: "c"}}, Open: []string{"/healthz"}}
	if !reflect.DeepEqual(o.Monitoring.Login, want) {
		t.Errorf("%+v", o.Monitoring.Login)
	}
	if o := load(t, `http_authorization { users: [{token: c}], open: [] }`); len(o.Monitoring.Login.Open) != 0 {
		t.Errorf("%+v", o.Monitoring.Login)
	}
	for text, want := range map[string]string{
		`http_authorization {}`:                                            "lists no users",
		`http_authorization { users: [{user: a}] }`:                        "needs a user and a password, or a token",
		`http_authorization { users: [{password: a}] }`:                    "needs a user and a password, or a token",
		`http_authorization { users: [{user: a, password: b, token: c}] }`: "either a token or",
		`http_authorization { users: [{}] }`:                               "needs a user and a password, or a token",
		`http_authorization { users: a }`:                                  "expected users to be an array",
		`http_authorization { users: [{token: c}], open: ["healthz"] }`:    "does not begin with a slash",
		`http_authorization { users: [{token: c}], open: "/healthz" }`:     "expected open to be an array",
		`http_authorization { users: [{token: c}], opens: [] }`:            "unknown field",
	} {
		loader := conf.Loader{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }}
		if _, err := loadInto(loader, "x.conf", options.Defaults()); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
