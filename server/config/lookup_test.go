package config

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"godwit/server/options"
)

// TestEveryBlockIsInSections reads this package: each block that decodes something is one of the sections, with a key
// for everything that it takes.
func TestEveryBlockIsInSections(t *testing.T) {
	names := make(map[string]bool)
	for _, s := range Sections() {
		names[s.Name] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := gotoken.NewFileSet()
	blocks := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "NewBlock" {
				return true
			}
			blocks++
			if called := blockName(call); !names[called] {
				t.Errorf("%s: the block %q is in no section", fset.Position(call.Pos()), called)
			}
			return true
		})
	}
	if blocks < len(names) || blocks < 40 {
		t.Errorf("%d blocks found, %d sections", blocks, len(names))
	}
}

// blockName returns the literal under Name in the block that is the call's first argument.
func blockName(call *ast.CallExpr) string {
	literal, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, e := range literal.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); !ok || key.Name != "Name" {
			continue
		}
		if v, ok := kv.Value.(*ast.BasicLit); ok {
			s, _ := strconv.Unquote(v.Value)
			return s
		}
	}
	return ""
}

// TestEveryKeyIsAccepted writes each key of the top level and sees that none is unknown, and one that is no key is.
func TestEveryKeyIsAccepted(t *testing.T) {
	for _, l := range Sections()[0].Lines {
		for _, k := range append([]string{l.Key, strings.ToUpper(l.Key)}, l.Aliases...) {
			if err := loadText(t, k+": 1.5\n"); err != nil && strings.Contains(err.Error(), "unknown field") {
				t.Errorf("%s: %v", k, err)
			}
		}
	}
	if err := loadText(t, "no_such_key: 1\n"); err == nil || !strings.Contains(err.Error(), `unknown field "no_such_key"`) {
		t.Error(err)
	}
}

func loadText(t *testing.T, text string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(path)
	return err
}

// TestEveryKeyHasAPath finds each key again by the path that it is listed at.
func TestEveryKeyHasAPath(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range Keys() {
		if seen[k.Path] {
			t.Errorf("%s is listed twice", k.Path)
		}
		seen[k.Path] = true
		found := Lookup(k.Path)
		if len(found) == 0 || !slices.ContainsFunc(found, func(o Key) bool { return o.Section == k.Section && o.Line.Key == k.Line.Key }) {
			t.Errorf("%s of %s is not found by its path: %v", k.Path, k.Section, found)
		}
		if k.Section != "Top level" && !strings.Contains(k.Path, ".") {
			t.Errorf("%s of %s has no path from the top", k.Path, k.Section)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"port", "port"},
		{"PORT", "port"},
		{"max_conn", "max_connections"},
		{"jetstream.sync", "jetstream.sync_interval"},
		{"jetstream.limits.max_ack_pending", "jetstream.limits.max_ack_pending"},
		{"cluster.tls.pinned_certs", "cluster.tls.pinned_certs"},
		{"accounts.users.pass", "accounts.users.pass"},
		{"accounts.SHOP.users.password", "accounts.users.pass"},
		{"account jetstream.max_streams", "accounts.jetstream.max_streams"},
		{"segment_size", "jetstream.segment_size"},
		{"ws.port", "websocket.port"},
		{"jetstream.prot", ""},
		{"port.port", ""},
		{"", ""},
		{"...", ""},
	} {
		got := ""
		if list := Lookup(tt.name); len(list) > 0 {
			got = list[0].Path
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if list := Lookup("max_ack_pending"); len(list) != 3 {
		t.Errorf("max_ack_pending: %v", list)
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{"prot": "port", "jetstream.synk": "jetstream.sync_interval", "max_paylod": "max_payload", "payload": "max_payload"} {
		if got := Nearest(name); !slices.Contains(got, want) || len(got) > maxNearest {
			t.Errorf("%q: %v", name, got)
		}
	}
	if got := Nearest("qqqqqqqqqqqq"); len(got) != 0 {
		t.Error(got)
	}
}

// TestSecretsAreMarked finds keys that sound like secrets.
func TestSecretsAreMarked(t *testing.T) {
	open := []string{"pass_cookie", "token_cookie", "account_token_position", "key_file", "keys_file", "trusted_keys", "xkey", "nkey", "key", "max_sub_tokens"}
	for _, k := range Keys() {
		sounds := slices.ContainsFunc([]string{"pass", "token", "secret", "seed", "_key"}, func(s string) bool { return strings.Contains(k.Line.Key, s) })
		if sounds != k.Secret && !slices.Contains(open, k.Line.Key) {
			t.Errorf("%s: secret is %v", k.Path, k.Secret)
		}
	}
}

// TestDeclaredDefaultsAreTrue compares what the page says with what a server without settings has.
func TestDeclaredDefaultsAreTrue(t *testing.T) {
	o := options.Defaults()
	baseline(o)
	now := current(o)
	compared := 0
	for _, k := range Keys() {
		v, ok := now[k.Path]
		if !ok || k.Path == "jetstream.enabled" { // false at the top, true in a block
			continue
		}
		declared := defaultValue(k.Line)
		if k.Default == "" {
			if v != false && v != int64(0) && v != "0s" && !strings.HasSuffix(k.Path, "host") && k.Path != "jetstream.info_queue_limit" {
				t.Errorf("%s is %v, and no default is declared", k.Path, v)
			}
			continue
		}
		compared++
		if declared != v {
			t.Errorf("%s: declared %v, is %v", k.Path, declared, v)
		}
	}
	if compared < 40 {
		t.Errorf("only %d defaults were compared", compared)
	}
}

func TestSectionOf(t *testing.T) {
	if s, ok := SectionOf("JetStream"); !ok || s.Name != "jetstream" {
		t.Error(s.Name)
	}
	if _, ok := SectionOf("nothing"); ok {
		t.Error("found")
	}
}
