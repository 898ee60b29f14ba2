package config

import (
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"godwit/conf"
	"godwit/server/options"
)

// ErrNotRun is about a command line that starts no server and so has no settings.
var ErrNotRun = errors.New("only flags that start a server have settings to show")

// Where the value of a setting comes from, if not from a place in a file.
const (
	FromDefault     = "default"
	FromCommandLine = "command line"
)

// Effective is one setting in force.
type Effective struct {
	Path   string // keys from the top; elements of lists have their number: "leafnodes.remotes[0].url"
	Value  any    // string, int64, float64, bool, []any, map[string]any; secrets are masked
	Unit   string // of a number
	Source string // FromDefault, FromCommandLine or file:line
}

// ReadEffective returns the settings that a server started with args would have, in the order of the reference page.
// Blocks that the configuration does not have are left out, and so are keys without value and default.
func ReadEffective(program string, args []string) (list []Effective, warnings []string, err error) {
	c, err := ParseFlags(program, args)
	if err != nil {
		return nil, nil, err
	}
	if c.Action != Run {
		if c.Action == ShowHelp && c.Notice != "" {
			return nil, nil, errors.New(c.Notice)
		}
		return nil, nil, ErrNotRun
	}
	w := &effectiveWalk{sections: make(map[string]conf.Section), now: current(c.Options), changed: make(map[string]bool)}
	for _, s := range Sections() {
		w.sections[s.Name] = s
	}
	var file *conf.Map
	plain := &Command{Name: c.Name}
	if path := c.ConfigFile(); path != "" {
		doc, err := conf.Loader{}.File(path)
		if err != nil {
			return nil, nil, err
		}
		file = doc.Root.Map
		plain.flags = slices.DeleteFunc(slices.Clone(c.flags), func(g given) bool { return !slices.Contains(g.def.names, "config") })
	}
	without := options.Defaults()
	if path := plain.ConfigFile(); path != "" {
		if _, err := loadInto(conf.Loader{}, path, without); err != nil {
			return nil, nil, err
		}
	} else {
		plain.startOptions(without)
	}
	baseline(without)
	before := current(without)
	for path, v := range w.now {
		w.changed[path] = !reflect.DeepEqual(before[path], v)
	}
	w.streams = c.Options.JetStream.Enabled
	w.block(w.sections["Top level"], file, "")
	return w.list, c.Warnings, nil
}

// effectiveWalk goes through a file by the declarations.
type effectiveWalk struct {
	sections map[string]conf.Section
	now      map[string]any  // values in force by path
	changed  map[string]bool // by the command line
	streams  bool            // streams are on
	list     []Effective
}

// block adds the keys of one block; m is nil if it was not written.
func (w *effectiveWalk) block(s conf.Section, m *conf.Map, path string) {
	listen := written(m, conf.Line{Key: "listen"})
	for _, l := range s.Lines {
		at := join(path, l.Key)
		v := written(m, l)
		inner, isBlock := w.sections[l.Block]
		switch {
		case w.changed[at]:
			w.add(at, l, w.now[at], FromCommandLine)
		case v != nil && isBlock && v.Kind == conf.MapKind && l.Named:
			for _, member := range v.Map.Members {
				w.entry(inner, l, member.Value, at+"."+member.Key)
			}
		case v != nil && isBlock && v.Kind == conf.List:
			for i, e := range v.List {
				w.entry(inner, l, e, at+"["+strconv.Itoa(i)+"]")
			}
		case v != nil && isBlock:
			w.entry(inner, l, v, at)
			if l.Key == "jetstream" && path == "" && v.Kind != conf.MapKind && w.streams {
				w.block(inner, nil, at)
			}
		case v != nil:
			value, ok := w.now[at]
			if !ok {
				value = v.Any()
			}
			w.add(at, l, value, positionOf(v))
		case l.Key == "jetstream" && path == "" && w.streams:
			w.block(inner, nil, at)
		case isBlock && w.changedBelow(at):
			w.block(inner, nil, at)
		default:
			w.implied(at, l, listen)
		}
	}
}

// changedBelow tells whether the command line has set a key of a block.
func (w *effectiveWalk) changedBelow(path string) bool {
	for p, changed := range w.changed {
		if changed && strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}

// implied adds a key that was not written.
func (w *effectiveWalk) implied(at string, l conf.Line, listen *conf.Value) {
	value, ok := w.now[at]
	switch {
	case ok && listen != nil && (l.Key == "host" || l.Key == "port"):
		w.add(at, l, value, positionOf(listen))
	case ok:
		w.add(at, l, value, FromDefault)
	case l.Default != "":
		w.add(at, l, defaultValue(l), FromDefault)
	}
}

// entry adds a block, or what stands in its place.
func (w *effectiveWalk) entry(s conf.Section, l conf.Line, v *conf.Value, path string) {
	if v.Kind == conf.MapKind {
		w.block(s, v.Map, path)
		return
	}
	w.add(path, l, v.Any(), positionOf(v))
}

func (w *effectiveWalk) add(path string, l conf.Line, value any, source string) {
	if l.Secret {
		value = redacted
	}
	w.list = append(w.list, Effective{Path: path, Value: withoutPasswords(value), Unit: l.Unit, Source: source})
}

// written returns the value of a key in a map, by any of its names; the last one wins as it does in a server.
func written(m *conf.Map, l conf.Line) (v *conf.Value) {
	if m == nil {
		return nil
	}
	for _, member := range m.Members {
		if l.Is(strings.ToLower(member.Key)) {
			v = member.Value
		}
	}
	return v
}

func positionOf(v *conf.Value) string { return v.Pos.File + ":" + strconv.Itoa(v.Pos.Line) }

// numberForm is how defaults write numbers, with or without a unit of size.
var numberForm = regexp.MustCompile(`^-?[0-9]+([kKmMgGtT][bB]?)?$`)

// defaultValue returns the declared default as a file would have it.
func defaultValue(l conf.Line) any {
	switch {
	case l.Default == "true" || l.Default == "false":
		return l.Default == "true"
	case strings.HasPrefix(l.Type, "duration") || !numberForm.MatchString(l.Default):
		return l.Default
	}
	doc, err := conf.Loader{}.Text("default", "x = "+l.Default+"\n")
	if err != nil || doc.Root.Map.Get("x") == nil {
		return l.Default
	}
	return doc.Root.Map.Get("x").Any()
}

// withoutPasswords masks passwords in URLs.
func withoutPasswords(v any) any {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "://") || !strings.Contains(v, "@") {
			return v
		}
		list := strings.Split(v, ",")
		for i, s := range list {
			if u, err := url.Parse(strings.TrimSpace(s)); err == nil {
				list[i] = u.Redacted()
			} else {
				list[i] = redacted
			}
		}
		return strings.Join(list, ",")
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutPasswords(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = withoutPasswords(e)
		}
		return out
	}
	return v
}
