package conf

import (
	"strconv"
	"strings"
)

// Reload tells what a reload of the configuration does with a changed setting.
type Reload int

const (
	Restart Reload = iota // the change is refused: it needs a restart
	Live                  // the change takes effect at once
	Partly                // some changes take effect, the field's sentence says which
)

// String returns the word of the reference page.
func (r Reload) String() string {
	switch r {
	case Live:
		return "yes"
	case Partly:
		return "partly"
	}
	return "no"
}

// Setter puts the value that was written under key where it belongs.
type Setter[T any] func(d *Decoder, key string, v *Value, into *T)

// Field declares one setting. Decoding, the errors about unknown keys and the reference page come from it.
type Field[T any] struct {
	Key     string
	Aliases []string
	Doc     string // one or two sentences
	Type    string // what is written: "integer", "string", "duration", …
	Unit    string // of the number; empty if the type says it or there is none
	Default string // as written; empty if there is none
	Bounds  string // in words
	Reload  Reload
	Block   string // name of the block whose fields the value has
	Named   bool   // the value is a map from names, which are free, to such blocks
	Secret  bool   // the value is not to be shown
	Set     Setter[T]
}

// Block declares the settings of one map. It is not changed after NewBlock.
type Block[T any] struct {
	Name string // as the reference page calls it
	Doc  string
	// Unknown gives the words for a key that is none of the fields; default: unknown field "key".
	Unknown func(key string) string
	// Lenient says that unknown keys mean nothing.
	Lenient bool
	// NotMap notes that a value is no map; default: the original's words about types.
	NotMap func(d *Decoder, v *Value)

	fields []Field[T]
	index  map[string]int // lower-case keys and aliases
}

// NewBlock returns a block with the fields. It panics if two have a key in common.
func NewBlock[T any](b Block[T], fields ...Field[T]) *Block[T] {
	b.fields, b.index = fields, make(map[string]int)
	for i, f := range fields {
		for _, k := range append([]string{f.Key}, f.Aliases...) {
			if _, dup := b.index[k]; dup || k != strings.ToLower(k) || f.Set == nil {
				panic("conf: bad field " + k + " of block " + b.Name)
			}
			b.index[k] = i
		}
	}
	return &b
}

// Decode puts the members of v into into. It reports false if v is no map.
func (b *Block[T]) Decode(d *Decoder, v *Value, into *T) bool {
	if v.Kind != MapKind && b.NotMap != nil {
		b.NotMap(d, v)
		return false
	}
	if !d.want(v, MapKind) {
		return false
	}
	for _, m := range v.Map.Members {
		key := strings.ToLower(m.Key)
		if i, ok := b.index[key]; ok {
			b.fields[i].Set(d, m.Key, m.Value, into)
			continue
		}
		if b.Lenient || m.Value.Used() {
			continue
		}
		text := "unknown field " + strconv.Quote(m.Key)
		if b.Unknown != nil {
			text = b.Unknown(m.Key)
		}
		d.Errorf(m.Value, "%s%s", text, b.suggest(key))
	}
	return true
}
