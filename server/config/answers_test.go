package config

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"godwit/conf"
	"godwit/server/options"
)

// answer is what nats-server v2.15.2 said to `-t` about a file x.conf.
type answer struct {
	Conf string `json:"conf"`
	Exit int    `json:"exit"`
	Out  string `json:"out"`
}

func readAnswers(t *testing.T, path string) (list []answer) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// check answers as `-t` does about a file with this text.
func check(path, text string) (success string, err error) {
	loader := conf.Loader{
		ReadFile: func(name string) ([]byte, error) {
			if name == path {
				return []byte(text), nil
			}
			return os.ReadFile(name)
		},
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	o := options.Defaults()
	warnings, err := loadInto(loader, path, o)
	if err == nil && len(warnings) > 0 {
		err = &warningsError{warnings}
	}
	if err != nil {
		return "", err
	}
	return "configuration file " + path + " is valid (" + o.ConfigDigest + ")\n", nil
}

// line is one line of an answer.
type line struct {
	row, col int // 0 and 0: no place
	text     string
}

var (
	place      = regexp.MustCompile(`^x\.conf:(\d+):(\d+): `)
	suggestion = regexp.MustCompile(` \(did you mean "[^"]*"\?\)$`)
)

func linesOf(out string) (list []line) {
	for _, s := range strings.Split(strings.TrimRight(out, "\n"), "\n") {
		var l line
		for m := place.FindStringSubmatch(s); m != nil; m = place.FindStringSubmatch(s) {
			l.row, _ = strconv.Atoi(m[1])
			l.col, _ = strconv.Atoi(m[2])
			s = s[len(m[0]):]
		}
		l.text = suggestion.ReplaceAllString(s, "")
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b line) int {
		return cmp.Or(strings.Compare(a.text, b.text), cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col))
	})
	return list
}

// excused are answers of ours that are meant to differ, by the text of the file.
var excused = map[string]string{
	// A list is taken for what the reference says it is.
	`ocsp: {mode: auto, urls: ["http://x"]}`: "",
	// The place of the mistake instead of the end of the map around it.
	`mappings {a: [{destination: 5, weight: 1}]}`: "x.conf:1:15: interface conversion: interface {} is int64, not string",
	// The original visits keys in random order, and says which of two keys is wrong accordingly.
	"authorization { user: a, pass: b }\naccounts {A {users: [{user: c, pass: d}]}}":                              "x.conf:2:14: Can not have a single user/pass and accounts",
	`accounts { A {exports: [{service: a, latency: b, stream: c}]} }`:                                             `x.conf:1:49: Detected stream "c" but already saw a service`,
	`accounts { A {exports:[{stream: x}]}, B {imports: [{stream: {account: A, subject: x}, prefix: p, to: t}]} }`: "x.conf:1:103: Stream import can not have a 'prefix' and a 'to' property",
	// Values and types shown as they were written.
	`accounts { A {nkey: 5} }`:                                        `x.conf:1:14: Not a valid public nkey for an account: "5"`,
	`accounts { A {exports: [{service: a, latency: {subject: 5}}]} }`: "x.conf:1:47: Expected latency subject to be a string, got int64",
	// Numbers that do not fit are mistakes.
	`jetstream {max_mem: "9999999999G"}`:            "x.conf:1:11: max_mem_store value is too big",
	`ping_interval: 99999999999999`:                 "x.conf:1:0: invalid use of field \"ping_interval\": ping_interval should be converted to a duration\nx.conf:1:0: ping_interval value is too big",
	`accounts {A {limits {max_conn: 99999999999}}}`: "x.conf:1:21: max_conn value is too big",
	"A=9223372036854775807k\nport:$A\nport:4222\n":  "integer '9223372036854775807k' is out of the range",
	"A=16e\nport:$A\nport:4222\n":                   "integer '16e' is out of the range",
	"A=8eb\nport:$A\nport:4222\n":                   "integer '8eb' is out of the range",
	"A=1kbi\nport:$A\nport:4222\n":                  "Parse error on line 1: 'Unknown unit 'kbi' of a number'",
	"A=1kbb\nport:$A\nport:4222\n":                  "Parse error on line 1: 'Unknown unit 'kbb' of a number'",
	"A=1kii\nport:$A\nport:4222\n":                  "Parse error on line 1: 'Unknown unit 'kii' of a number'",
	"A=1kibi\nport:$A\nport:4222\n":                 "Parse error on line 1: 'Unknown unit 'kibi' of a number'",
	// A timeout that is no time is told, although it does no harm.
	`websocket { authorization {timeout: x} }`: "x.conf:1:27: invalid use of field \"timeout\": it is no time: time: invalid duration \"x\"",
	// Each of several mistakes is told.
	"tls: {\n  certs: [ 5, {a: 1} ] }": "x.conf:2:12: error parsing certificates config: unsupported type int64\nx.conf:2:16: error parsing certificates config: unsupported type int64",
}

// agree tells whether our lines say what the original's say: the same words, at the same places or nearer
// to the mistake.
func agree(ours, theirs []line) bool {
	theirs = slices.DeleteFunc(theirs, func(l line) bool {
		return strings.HasPrefix(l.text, "runtime error: ") || strings.HasPrefix(l.text, "mkdir ")
	})
	if len(ours) != len(theirs) {
		return false
	}
	for i, o := range ours {
		r := theirs[i]
		if head, tail, ok := strings.Cut(r.text, "*conf.token"); ok {
			if !strings.HasPrefix(o.text, head) || !strings.HasSuffix(o.text, tail) {
				return false
			}
		} else if o.text != r.text {
			return false
		}
		if r.row != 0 && (o.row < r.row || o.row == r.row && o.col < r.col) {
			return false
		}
	}
	return true
}

func TestAnswersOfNatsServer(t *testing.T) {
	answers := readAnswers(t, "testdata/answers.jsonl")
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "certs"), os.DirFS("testdata/certs")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, a := range answers {
		ours, err := check("x.conf", a.Conf)
		if err != nil {
			ours = err.Error()
			if ee := (*Errors)(nil); !errors.As(err, &ee) && !errors.Is(err, ErrWarnings) {
				ours += "\n"
			}
		}
		if want, ok := excused[a.Conf]; ok {
			if err == nil {
				ours = ""
			}
			if strings.TrimRight(suggestion.ReplaceAllString(ours, ""), "\n") != want {
				t.Errorf("%q\n  ours  %q\n  meant %q", a.Conf, ours, want)
			}
			continue
		}
		if (err == nil) != (a.Exit == 0) || !agree(linesOf(ours), linesOf(a.Out)) {
			t.Errorf("%q\n  ours   %q\n  theirs %q", a.Conf, ours, a.Out)
		}
	}
}
