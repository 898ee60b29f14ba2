package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// files is a Loader over a map of files and one of variables.
func files(texts, env map[string]string) Loader {
	return Loader{
		ReadFile: func(path string) ([]byte, error) {
			text, ok := texts[path]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("no such file or directory")}
			}
			return []byte(text), nil
		},
		LookupEnv: func(name string) (string, bool) { text, ok := env[name]; return text, ok },
	}
}

func TestIncludes(t *testing.T) {
	many := map[string]string{"m.conf": "include '0.conf'"}
	for i := range 2 * maxIncludes {
		many[fmt.Sprintf("%d.conf", i)] = fmt.Sprintf("include '%d.conf'", i+1)
	}
	texts := map[string]string{
		"sub/a.conf": "include b.conf\nfrom: a", "sub/b.conf": "x: 1", "bad.conf": "x", "lex.conf": "y: -",
		"self.conf": "include './sub/../self.conf'", "uses.conf": "b: $a", "defines.conf": "a: 5\nc: $a",
		"list.conf": "a: [ include ]",
	}
	for _, tt := range []struct {
		name, in, want string
		err            error
	}{
		{"bare name", "include sub/a.conf", "{x=int64:1@1:0 from=string:a@2:1}@1:0", nil},
		{"quoted name, in a map", "m { include 'sub/b.conf', y: 2 }", "{m={x=int64:1@1:0 y=int64:2@1:26}@1:0}@1:0", nil},
		{"takes part in last wins", "x: 5\ninclude sub/b.conf", "{x=int64:1@1:0}@1:0", nil},
		{"any case, separator behind", "INCLUDE \"sub/b.conf\"; y: 2", "{x=int64:1@1:0 y=int64:2@1:22}@1:0", nil},
		{"a key with a separator is none", "include: x", "{include=string:x@1:0}@1:0", nil},
		{"its variables are known behind it", "include defines.conf\nd: $a", "{a=int64:5@1:0 c=int64:5@2:1 d=int64:5@2:1}@1:0", nil},
		{"it does not know variables around it", "a: 1\ninclude uses.conf", "error parsing include file 'uses.conf', variable reference for 'a' on line 1 can not be found", ErrVariable},
		{"missing", "include no.conf", "error parsing include file 'no.conf', open no.conf: no such file or directory", ErrInclude},
		{"invalid", "include bad.conf", "error parsing include file 'bad.conf', config is invalid (bad.conf:1:1)", ErrSyntax},
		{"wrong", "include lex.conf", "error parsing include file 'lex.conf', Parse error on line 1: 'Expected a digit but got '\x00'.'", ErrSyntax},
		{"no name", "include\n", "Parse error on line 2: 'Expected include value but found new line'", ErrSyntax},
		{"a map instead", "include {", "Parse error on line 1: 'Expected include value but found start of a map'", ErrSyntax},
		{"a list instead", "include [", "Parse error on line 1: 'Expected include value but found start of an array'", ErrSyntax},
		{"open quote", "include 'x", "Parse error on line 1: 'Unexpected EOF in quoted include'", ErrSyntax},
		{"open double quote", `include "x`, "Parse error on line 1: 'Unexpected EOF in double quoted include'", ErrSyntax},
		{"in itself", "include self.conf", "error parsing include file 'self.conf', error parsing include file './sub/../self.conf', it includes itself or nests more than 64 files", ErrTooDeep},
		{"no include in a list", "include list.conf", "{a=[string:include@1:5]@1:0}@1:0", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := map[string]string{"m.conf": tt.in}
			for k, v := range texts {
				all[k] = v
			}
			doc, err := files(all, nil).File("m.conf")
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = dump(doc.Root)
			}
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got  %s, %v\nwant %s, %v", got, err, tt.want, tt.err)
			}
		})
	}
	if _, err := files(many, nil).File("m.conf"); err == nil || !strings.Contains(err.Error(), "nests more than 64 files") {
		t.Errorf("a long chain of files: %v", err)
	}
	if _, err := files(nil, nil).File("no.conf"); err == nil || err.Error() != "open no.conf: no such file or directory" {
		t.Errorf("no file: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{
		"N": "5", "WORD": "abc", "LIST": "[a, b]", "MAP": "{x: $N}", "QUOTED": "'a b'", "TWO": "a b", "EMPTY": "",
		"SELF": "$SELF", "RING": "{a: [$GNIR]}", "GNIR": "$RING", "HALF": `"`, "PATH": "/bin:/usr/bin", "OUTER": "$a", "BIG": "99999999999999999999",
	}
	for _, tt := range []struct{ in, want string }{
		{"$N", "int64:5@1:0"},
		{"$WORD", "string:abc@1:0"},
		{"$LIST", "[string:a@1:4 string:b@1:7]@1:0"},
		{"$MAP", "{x=int64:5@1:4}@1:0"},
		{"$QUOTED", "string:a b@1:0"},
		{"$EMPTY", "string:@1:0"},
		{"$PATH", "string:/bin:/usr/bin@1:0"},
		{"'$N'", "string:$N@1:0"},
		{"$2a$11$x", "string:$2a$11$x@1:0"},
		{"$TWO", "variable reference for 'TWO' on line 1 could not be parsed: Parse error on line 1: 'Expected a top-level value to end with a new line, comment or EOF, but got 'b' instead.'"},
		{"$NONE", "variable reference for 'NONE' on line 1 can not be found"},
		{"$SELF", "variable reference for 'SELF' on line 1 could not be parsed: variable reference cycle for 'SELF'"},
		{"$RING", "variable reference for 'RING' on line 1 could not be parsed: variable reference for 'GNIR' on line 1 could not be parsed: variable reference cycle for 'RING'"},
		{"$HALF", "variable reference for 'HALF' on line 1 could not be parsed: config is invalid (:1:4)"},
		{"$OUTER", "variable reference for 'OUTER' on line 1 could not be parsed: variable reference for 'a' on line 1 can not be found"},
		{"$BIG", "variable reference for 'BIG' on line 1 could not be parsed: integer '99999999999999999999' is out of the range"},
	} {
		doc, err := files(nil, env).Text("x.conf", "a: "+tt.in)
		got := ""
		if err != nil {
			got = err.Error()
			if !errors.Is(err, ErrVariable) {
				t.Errorf("%s: %v is no ErrVariable", tt.in, err)
			}
		} else {
			got = dump(doc.Root.Map.Get("a"))
		}
		if got != tt.want {
			t.Errorf("%s\n  got  %s\n  want %s", tt.in, got, tt.want)
		}
	}
}

func TestVariables(t *testing.T) {
	doc := parse(t, "a: 1\nb: 2\nm { a: 3, n { c: $a, d: $b } }\nl: [$a, {e: $b}]")
	if got, want := fmt.Sprint(doc.Root.Any()), "map[a:1 b:2 l:[1 map[e:2]] m:map[a:3 n:map[c:3 d:2]]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !doc.Root.Map.Get("a").Used() || !doc.Root.Map.Get("b").Used() || doc.Root.Map.Get("m").Used() {
		t.Error("what a reference names is used, and nothing else")
	}
	if !doc.Root.Map.Get("m").Map.Get("a").Used() {
		t.Error("the inner key is the one named")
	}
	for _, text := range []string{"a: $a", "a: $b\nb: 1", "m {a: 1}\nb: $a", "a: [$a]", "a: {b: $a}"} {
		if _, err := (Loader{LookupEnv: noEnv}).Text("x", text); !errors.Is(err, ErrVariable) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("a {", 1e5), "a: " + strings.Repeat("[", 1e5), "a: " + strings.Repeat("[{b:", 1e5)} {
		if _, err := (Loader{}).Text("x", text); !errors.Is(err, ErrTooDeep) {
			t.Errorf("%.20q…: %.80v", text, err)
		}
	}
	deep := strings.Repeat("[", maxDepth) + "x" + strings.Repeat("]", maxDepth)
	parse(t, "a: "+deep)
}

func TestDigest(t *testing.T) {
	same := []string{"port: 4222", "{port = 4222}", "# a\nport 4222;", "'port': 4222 // b"}
	for _, text := range same {
		// The SHA-256 of {"port":4222} and a line feed.
		if got := parse(t, text).Digest; got != "sha256:797533ebd0dfba7d34a0f9337ecf147e442871f48ddfd07ed751575a5737267e" {
			t.Errorf("%q: %s", text, got)
		}
	}
	if a, b := parse(t, "a: 1, b: 2").Digest, parse(t, "b: 2, a: 1").Digest; a != b {
		t.Error("the order of keys makes no difference")
	}
}
