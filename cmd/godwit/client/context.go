package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
)

// contexts are the files in which the nats tool keeps how to connect, one for each name.
func (t *Tool) contexts() *cli.Command {
	return &cli.Command{Name: "context", Usage: "saved ways to connect, shared with the nats tool", Subcommands: []*cli.Command{
		t.local(&cli.Command{Name: "ls", Usage: "list them", Flags: []cli.Flag{jsonFlag()}}, contextLs),
		t.local(&cli.Command{Name: "add", Usage: "save how to connect", ArgsUsage: "NAME", Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "description", Usage: "what it is for"}, &cli.BoolFlag{Name: "select", Usage: "use it from now on"}, forceFlag()}, contextFlags()...)}, contextAdd),
		t.local(&cli.Command{Name: "select", Usage: "use one from now on", ArgsUsage: "NAME"}, contextSelect),
		t.local(&cli.Command{Name: "show", Usage: "show one, without its secrets", ArgsUsage: "[NAME]", Flags: []cli.Flag{jsonFlag()}}, contextShow),
		t.local(&cli.Command{Name: "rm", Usage: "delete one", ArgsUsage: "NAME", Flags: []cli.Flag{forceFlag()}}, contextRm),
	}}
}

// contextFlags are what a context may hold.
func contextFlags() []cli.Flag {
	var list []cli.Flag
	for _, f := range connFlags() {
		switch f := f.(type) {
		case *cli.StringFlag:
			if f.Name != "context" {
				f.EnvVars = nil // what is saved is what is said
				list = append(list, f)
			}
		}
	}
	return list
}

// local makes a command that needs no connection.
func (t *Tool) local(c *cli.Command, do func(c *call) error) *cli.Command {
	c.HideHelpCommand = true
	c.Action = func(x *cli.Context) error {
		if err := fits(x); err != nil {
			return err
		}
		return do(&call{Context: x, t: t, ctx: x.Context})
	}
	return c
}

// contextFile is the file of a context.
func contextFile(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return "", usage("%q is no name of a context", name)
	}
	dir, err := configDir()
	return filepath.Join(dir, "context", name+".json"), err
}

// selected is the name of the context that is used if none is named.
func selected() string {
	dir, err := configDir()
	if err != nil {
		return ""
	}
	b, _ := os.ReadFile(filepath.Join(dir, "context.txt"))
	return strings.TrimSpace(string(b))
}

func contextLs(c *call) error {
	dir, err := configDir()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(dir, "context"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	names, rows := []string{}, [][]string{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		s, err := loadContext(name)
		mark := ""
		if name == selected() {
			mark = "*"
		}
		text := s.Description
		if err != nil {
			text = err.Error()
		}
		names, rows = append(names, name), append(rows, []string{name + mark, s.URL, text})
	}
	switch {
	case c.Bool("json"):
		return c.t.printJSON(names)
	case len(names) == 0:
		c.t.printf("there are no contexts; make one with: godwit context add NAME --server URL\n")
	default:
		c.t.table([]string{"context", "server", "description"}, rows)
	}
	return nil
}

func contextAdd(c *call) error {
	path, err := contextFile(c.Args().First())
	if err != nil {
		return err
	}
	// What other tools have saved beside what is known here stays.
	all := map[string]any{}
	if b, err := os.ReadFile(path); err == nil {
		if err := c.confirm("Change the context " + c.Args().First() + "?"); err != nil {
			return err
		}
		if err := json.Unmarshal(b, &all); err != nil {
			return fmt.Errorf("context %q: %w", c.Args().First(), err)
		}
	}
	for flag, key := range map[string]string{"description": "description", "server": "url", "user": "user", "password": "password", "creds": "creds", "nkey": "nkey",
		"tlscert": "cert", "tlskey": "key", "tlsca": "ca", "js-domain": "jetstream_domain"} {
		if c.IsSet(flag) {
			all[key] = c.String(flag)
		}
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return err
	}
	c.t.printf("context %s is saved\n", c.Args().First())
	if c.Bool("select") {
		return contextSelect(c)
	}
	return nil
}

func contextSelect(c *call) error {
	if _, err := loadContext(c.Args().First()); err != nil {
		return err
	}
	dir, err := configDir()
	if err != nil {
		return err
	}
	if before := selected(); before != "" && before != c.Args().First() {
		if err := os.WriteFile(filepath.Join(dir, "previous-context.txt"), []byte(before), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "context.txt"), []byte(c.Args().First()), 0o600); err != nil {
		return err
	}
	c.t.printf("context %s is used from now on\n", c.Args().First())
	return nil
}

func contextShow(c *call) error {
	name := c.Args().First()
	if name == "" {
		if name = selected(); name == "" {
			return &hinted{errors.New("no context is selected"), "select one with: godwit context select NAME"}
		}
	}
	s, err := loadContext(name)
	if err != nil {
		return err
	}
	for _, secret := range []*string{&s.Token, &s.Password} {
		if *secret != "" {
			*secret = "***"
		}
	}
	if c.Bool("json") {
		return c.t.printJSON(s)
	}
	c.t.facts("Context "+name, [2]string{"description", s.Description}, [2]string{"server", s.URL}, [2]string{"user", s.User}, [2]string{"password", s.Password}, [2]string{"token", s.Token},
		[2]string{"credentials", s.Creds}, [2]string{"nkey", s.NKey}, [2]string{"certificate", s.Cert}, [2]string{"key", s.Key}, [2]string{"authorities", s.CA}, [2]string{"domain", s.Domain})
	return nil
}

func contextRm(c *call) error {
	name := c.Args().First()
	path, err := contextFile(name)
	if err != nil {
		return err
	}
	if _, err := loadContext(name); err != nil {
		return err
	}
	if err := c.confirm("Delete the context " + name + "?"); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	if dir, err := configDir(); err == nil && selected() == name {
		if err := os.Remove(filepath.Join(dir, "context.txt")); err != nil {
			return err
		}
	}
	c.t.printf("context %s is deleted\n", name)
	return nil
}
