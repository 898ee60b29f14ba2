package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"godwit/conf"
	"godwit/server/config"
)

// statusUsage is the exit status after a command line that means nothing.
const statusUsage = 2

// configCommand is "godwit config".
func (p *program) configCommand() *cli.Command {
	asJSON := &cli.BoolFlag{Name: "json", Usage: "print JSON"}
	return &cli.Command{
		Name:  "config",
		Usage: "check a configuration file, explain its keys, show what is in force",
		Subcommands: []*cli.Command{
			{
				Name: "test", Usage: "check a file as a server does; the exit status is 0 if it is good", ArgsUsage: "FILE",
				Flags: []cli.Flag{asJSON},
				Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return p.usage("config test needs one file: godwit config test FILE")
					}
					return p.configTest(c.Args().First(), c.Bool("json"))
				},
			},
			{
				Name: "explain", Usage: "say what a key means, what it may be and what a reload does with it", ArgsUsage: "[KEY]",
				Description: "KEY is a key, a path such as jetstream.limits.max_ack_pending, or the name of a section. Without one, all keys are listed.",
				Flags:       []cli.Flag{asJSON},
				Action: func(c *cli.Context) error {
					if c.NArg() > 1 {
						return p.usage("config explain takes one key: godwit config explain KEY")
					}
					return p.configExplain(c.Args().First(), c.Bool("json"))
				},
			},
			{
				Name: "print", Usage: "show the settings in force and where each comes from", ArgsUsage: "[server's flags]",
				Description: "Takes the flags that a server takes, such as -c FILE, and --json. Passwords and keys are not shown.\n" +
					"With --given, only what is not a default is shown.",
				SkipFlagParsing: true,
				Action:          func(c *cli.Context) error { return p.configPrint(c.Args().Slice()) },
			},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return p.usage(fmt.Sprintf("config has no command %q: it has test, explain and print", c.Args().First()))
			}
			return p.usage("config needs a command: test, explain or print")
		},
	}
}

// usage is an error about the command line.
func (p *program) usage(text string) error {
	p.status = statusUsage
	return errors.New(text)
}

// configTest gives the verdict of the flag -t.
func (p *program) configTest(path string, asJSON bool) error {
	if !asJSON {
		p.status = p.serve([]string{"-t", "-c", path})
		return nil
	}
	type problem struct {
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
		Col  int    `json:"column,omitempty"`
		Text string `json:"text"`
	}
	verdict := struct {
		File     string    `json:"file"`
		Valid    bool      `json:"valid"`
		Digest   string    `json:"digest,omitempty"`
		Errors   []problem `json:"errors"`
		Warnings []problem `json:"warnings"`
	}{File: path, Errors: []problem{}, Warnings: []problem{}}
	problems := func(list []*conf.Problem) (out []problem) {
		out = []problem{}
		for _, x := range list {
			out = append(out, problem{x.Pos.File, x.Pos.Line, x.Pos.Col, x.Text})
		}
		return out
	}
	o, warnings, err := config.Load(path)
	var all *config.Errors
	switch {
	case errors.As(err, &all):
		verdict.Errors, verdict.Warnings = problems(all.Problems), problems(all.Warnings)
	case err != nil:
		verdict.Errors = []problem{{Text: err.Error()}}
	default:
		verdict.Digest, verdict.Valid = o.ConfigDigest, len(warnings) == 0
		for _, w := range warnings {
			verdict.Warnings = append(verdict.Warnings, problem{Text: w})
		}
	}
	if !verdict.Valid {
		p.status = 1
	}
	return writeJSON(p.stdout, verdict)
}

// configExplain prints what is declared about a key, about all keys of a section, or a list of all.
func (p *program) configExplain(name string, asJSON bool) error {
	keys := config.Keys()
	if name != "" {
		keys = config.Lookup(name)
		if s, ok := config.SectionOf(name); ok && len(keys) == 0 {
			keys = keysOf(s.Name)
		}
	}
	if len(keys) == 0 {
		p.status = 1
		hint := "godwit config explain lists all keys"
		if near := config.Nearest(name); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		return fmt.Errorf("there is no key %q; %s", name, hint)
	}
	switch {
	case asJSON:
		return writeJSON(p.stdout, explained(keys))
	case name == "" || len(keys) > maxExplained:
		printKeys(p.stdout, keys)
	default:
		for i := range keys {
			if i > 0 {
				fmt.Fprintln(p.stdout)
			}
			printKey(p.stdout, &keys[i])
		}
	}
	return nil
}

// maxExplained is how many keys are explained one by one; more are listed.
const maxExplained = 4

func keysOf(section string) (list []config.Key) {
	for _, k := range config.Keys() {
		if k.Section == section {
			list = append(list, k)
		}
	}
	return list
}

// plainWords takes the marks out of a sentence that was written for a page in Markdown.
func plainWords(s string) string { return strings.ReplaceAll(s, "`", "") }

func typeOf(k *config.Key) string {
	t := plainWords(k.Type)
	if k.Unit != "" {
		t += ", " + k.Unit
	}
	return t
}

// reloads says what a reload does with a change.
func reloads(r conf.Reload) string {
	switch r {
	case conf.Live:
		return "takes effect"
	case conf.Partly:
		return "some changes take effect"
	}
	return "refused: needs a restart"
}

func printKey(w io.Writer, k *config.Key) {
	fmt.Fprintf(w, "%s\n  %s\n", k.Path, plainWords(k.Doc))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "  %-9s %s\n", name, text)
		}
	}
	line("value", typeOf(k))
	line("default", k.Default)
	line("bounds", plainWords(k.Bounds))
	line("reload", reloads(k.Reload))
	line("also", strings.Join(k.Aliases, ", "))
	if k.Block != "" {
		line("keys", fmt.Sprintf("those of the section %q", k.Block))
	}
	line("section", k.Section)
}

// printKeys lists keys by section.
func printKeys(out io.Writer, keys []config.Key) {
	section := ""
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i := range keys {
		k := &keys[i]
		if k.Section != section {
			if section != "" {
				fmt.Fprintln(w)
			}
			section = k.Section
			fmt.Fprintf(w, "%s\n", section)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", k.Path, orDash(k.Default), plainWords(k.Doc))
	}
	w.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// explainedKey is a key as JSON.
type explainedKey struct {
	Path    string   `json:"path"`
	Key     string   `json:"key"`
	Aliases []string `json:"aliases,omitempty"`
	Section string   `json:"section"`
	Type    string   `json:"type"`
	Unit    string   `json:"unit,omitempty"`
	Default string   `json:"default,omitempty"`
	Bounds  string   `json:"bounds,omitempty"`
	Reload  string   `json:"reload"`
	Block   string   `json:"block,omitempty"`
	Secret  bool     `json:"secret,omitempty"`
	Meaning string   `json:"meaning"`
}

func explained(keys []config.Key) []explainedKey {
	out := make([]explainedKey, 0, len(keys))
	for _, k := range keys {
		out = append(out, explainedKey{k.Path, k.Line.Key, k.Aliases, k.Section, plainWords(k.Type), k.Unit, k.Default, plainWords(k.Bounds),
			k.Reload.String(), k.Block, k.Secret, plainWords(k.Doc)})
	}
	return out
}

// configPrint shows what a server with these flags would have.
func (p *program) configPrint(args []string) error {
	asJSON, given := false, false
	var flags []string
	for _, a := range args {
		switch a {
		case "--json", "-json":
			asJSON = true
		case "--given", "-given":
			given = true
		default:
			flags = append(flags, a)
		}
	}
	list, warnings, err := config.ReadEffective(p.name, flags)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(p.stderr, w)
	}
	if given {
		kept := list[:0]
		for _, e := range list {
			if e.Source != config.FromDefault {
				kept = append(kept, e)
			}
		}
		list = kept
	}
	if asJSON {
		type line struct {
			Path   string `json:"path"`
			Value  any    `json:"value"`
			Source string `json:"source"`
		}
		out := make([]line, 0, len(list))
		for _, e := range list {
			out = append(out, line{e.Path, e.Value, e.Source})
		}
		return writeJSON(p.stdout, out)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, e := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Path, valueText(e), e.Source)
	}
	return w.Flush()
}

// valueText writes a value for people.
func valueText(e config.Effective) string {
	if n, ok := e.Value.(int64); ok && e.Unit == "bytes" {
		return sizeText(n)
	}
	switch v := e.Value.(type) {
	case string:
		if v == "" {
			return `""`
		}
		return v
	case []any, map[string]any:
		b, err := json.Marshal(v)
		if err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(e.Value)
}

// sizeText writes a number of bytes with the largest unit that leaves a whole number.
func sizeText(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 40, "TB"}, {1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}} {
		if n != 0 && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprint(n)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
