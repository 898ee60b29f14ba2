package client

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

var update = flag.Bool("update", false, "write docs/cli.md")

const reference = "../../../docs/cli.md"

// TestReference holds docs/cli.md to the commands.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Made from the commands by `go test ./cmd/godwit/client -run TestReference -update`. -->\n\n" +
		"`godwit` without a command, and `godwit` with flags of nats-server, is the server. `godwit check DIR` verifies stored streams while the server is stopped,\n" +
		"`godwit config` checks configuration files (`test`), says what keys mean (`explain`) and shows what is in force and where it comes from (`print`). All others speak\n" +
		"to a server as a client: to the one that `--server` or `NATS_URL` names, or the context of the `nats` tool that `--context` names or that is selected. Flags may come\n" +
		"before and after arguments. Results go to standard output, as JSON with `--json`; complaints go to standard error. The exit status is 0 for success, 1 if what was asked failed, 2 for a\n" +
		"mistake in the command line. What destroys something asks first, or needs `--force` where nobody can answer.\n\nAll of them take:\n\n")
	writeFlags(&b, connFlags())
	for _, c := range (&Tool{}).Commands() {
		writeCommand(&b, c, "")
	}
	if *update {
		if err := os.WriteFile(reference, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/cli.md is stale: run go test ./cmd/godwit/client -run TestReference -update (%v)", err)
	}
}

func writeCommand(b *strings.Builder, c *cli.Command, before string) {
	name := strings.TrimSpace(before + " " + c.Name)
	if len(c.Subcommands) > 0 {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n", name, c.Usage)
		for _, s := range c.Subcommands {
			writeCommand(b, s, name)
		}
		return
	}
	fmt.Fprintf(b, "\n### `%s`\n\n%s.", strings.TrimSpace("godwit "+name+" "+c.ArgsUsage), c.Usage)
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, " Also: %s.", strings.Join(c.Aliases, ", "))
	}
	b.WriteString("\n")
	if c.Description != "" {
		fmt.Fprintf(b, "\n%s\n", c.Description)
	}
	own := c.Flags
	if n := len(own) - len(connFlags()); n >= 0 && own[len(own)-1].Names()[0] == "timeout" {
		own = own[:n]
	}
	if len(own) > 0 {
		b.WriteString("\n")
		writeFlags(b, own)
	}
}

func writeFlags(b *strings.Builder, flags []cli.Flag) {
	b.WriteString("| flag | meaning |\n| --- | --- |\n")
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if v, visible := f.(cli.VisibleFlag); !ok || visible && !v.IsVisible() {
			continue
		}
		var names []string
		for _, n := range f.Names() {
			dashes := "--"
			if len(n) == 1 {
				dashes = "-"
			}
			names = append(names, "`"+dashes+n+"`")
		}
		text := doc.GetUsage()
		if d := doc.GetDefaultText(); doc.TakesValue() && d != "" && d != "0" && d != "0s" {
			text += " (default " + strings.Trim(d, `"`) + ")"
		}
		if env := doc.GetEnvVars(); len(env) > 0 {
			text += "; `" + strings.Join(env, "`, `") + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", strings.Join(names, ", "), strings.ReplaceAll(text, "|", `\|`))
	}
}

// Each command says what it does, and flags of one command have different names.
func TestCommandsAreDescribed(t *testing.T) {
	var look func(list []*cli.Command, before string)
	look = func(list []*cli.Command, before string) {
		for _, c := range list {
			name := before + " " + c.Name
			if c.Usage == "" {
				t.Errorf("%s has no description", name)
			}
			seen := map[string]bool{}
			for _, f := range c.Flags {
				for _, n := range f.Names() {
					if seen[n] {
						t.Errorf("%s has two flags %s", name, n)
					}
					seen[n] = true
				}
			}
			look(c.Subcommands, name)
		}
	}
	look((&Tool{}).Commands(), "godwit")
}

func TestFlagsMayComeAnywhere(t *testing.T) {
	app := &cli.App{Name: "godwit", Commands: (&Tool{}).Commands()}
	for in, want := range map[string]string{
		"godwit stream add S --subjects a --deny-purge": "godwit stream add --subjects a --deny-purge -- S",
		"godwit pub a b -H x:y -J --count=3":            "godwit pub -H x:y -J --count=3 -- a b",
		"godwit pub a -- -b --c":                        "godwit pub -- a -b --c",
		"godwit pub a -5":                               "godwit pub -- a -5",
		"godwit consumer inflight extend S C 1 --by 5m": "godwit consumer inflight extend --by 5m -- S C 1",
		"godwit nothing a --b":                          "godwit nothing a --b",
	} {
		if got := strings.Join(ordered(app, strings.Fields(in)), " "); got != want {
			t.Errorf("%s\n  got  %s\n  want %s", in, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-1": -1, "10": 10, "1K": 1000, "1KiB": 1024, "10 GiB": 10 << 30, "2TB": 2e12, "5 mb": 5e6} {
		if got, err := parseSize("x", text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "-2", "1Q", "1.5G", "99999999TB", "K"} {
		if got, err := parseSize("x", text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	if got := size(1536) + " " + count(1234567) + " " + limit(-1, size); got != "1.5 KiB 1,234,567 unlimited" {
		t.Error(got)
	}
}
