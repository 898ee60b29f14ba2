package conf

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// end is what peek and next return where the text ends. The original takes a NUL byte for the end of the
// construct that it stands in, so the same number for both is right.
const end = 0

// parser reads one text. Values are stored as soon as they are read, because a variable reference sees
// exactly the keys written before it.
type parser struct {
	loader    Loader
	file      string
	text      string
	pos       int // of the next byte
	line      int
	lineStart int // position of the line feed before this line; 0 on the first
	depth     int // open brackets of lists and maps
	braces    int // open braces around the whole text
	including []string
	resolving []string // environment variables whose text is being parsed

	// Keys whose value is still to come, innermost last. A map whose last key has no value leaves that key
	// here, and the map itself then goes under it: the original does so, and its messages show it.
	keys     []keyAt
	afterKey bool   // nothing but a separator was read since the newest key
	maps     []*Map // open maps, innermost last
}

type keyAt struct {
	name string
	pos  Pos
}

func newParser(l Loader, file, text string) *parser {
	return &parser{loader: l, file: file, text: text, line: 1}
}

// parse reads the whole text and returns it as a map.
func (p *parser) parse() (*Value, error) {
	root := &Value{Kind: MapKind, Map: newMap(), Pos: Pos{File: p.file, Line: 1}}
	p.maps = []*Map{root.Map}
	err := p.document()
	if err == errEOF {
		err = nil
		if p.afterKey && p.keys[len(p.keys)-1].name != "}" {
			err = p.invalid()
		}
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

// invalid is the error about a key that the text ends behind.
func (p *parser) invalid() error {
	return errorOf(ErrSyntax, "config is invalid (%v)", p.here())
}

// here is the place of the next byte.
func (p *parser) here() Pos { return Pos{File: p.file, Line: p.line, Col: p.pos - p.lineStart} }

// place is where the text from start on began. The line is the current one: a key or a string over several
// lines is reported on its last line.
func (p *parser) place(start, lineStart int) Pos {
	return Pos{File: p.file, Line: p.line, Col: start - lineStart}
}

func (p *parser) peek() byte {
	if p.pos >= len(p.text) {
		return end
	}
	return p.text[p.pos]
}

// next consumes a byte and counts lines.
func (p *parser) next() byte {
	if p.pos >= len(p.text) {
		return end
	}
	c := p.text[p.pos]
	if c == '\n' {
		p.line++
		p.lineStart = p.pos
	}
	p.pos++
	return c
}

func (p *parser) atEnd() bool { return p.pos >= len(p.text) }

// take consumes one character and returns it as messages show it.
func (p *parser) take() string {
	if p.atEnd() {
		return "\x00"
	}
	if p.peek() == '\n' {
		p.next()
		return `\n`
	}
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += n
	return string(r)
}

func isBlank(c byte) bool   { return c == ' ' || c == '\t' }
func isNewline(c byte) bool { return c == '\n' || c == '\r' }
func isDigit(c byte) bool   { return c >= '0' && c <= '9' }
func isKeySep(c byte) bool  { return c == ':' || c == '=' }

func (p *parser) skipBlanks() {
	for isBlank(p.peek()) {
		p.pos++
	}
}

func (p *parser) skipSpace() {
	for isBlank(p.peek()) || isNewline(p.peek()) {
		p.next()
	}
}

// comment consumes a comment if one starts here. A slash that no second one follows is consumed too, and
// slash tells of it: what that means depends on where it stands.
func (p *parser) comment() (found, slash bool) {
	switch p.peek() {
	case '#':
		p.pos++
	case '/':
		p.pos++
		if p.peek() != '/' {
			return false, true
		}
	default:
		return false, false
	}
	for c := p.peek(); !isNewline(c) && c != end; c = p.peek() {
		p.pos++
	}
	return true, false
}

// document reads keys and values to the end of the text. Braces around them may be missing, and closing
// ones may be too many.
func (p *parser) document() error {
	for {
		p.skipSpace()
		c := p.peek()
		switch {
		case c == '{':
			p.pos++
			p.braces++
			continue
		case c == '}' && p.braces > 0:
			if err := p.closeBrace(); err != nil {
				return err
			}
			continue
		}
		found, slash := p.comment()
		switch {
		case found:
			continue
		case slash, c == end && !p.atEnd():
			return p.syntax("Unexpected EOF.")
		case c == end:
			return nil
		}
		done, err := p.entry()
		if done || err != nil {
			return err
		}
		if err := p.endOfEntry(); err != nil {
			return err
		}
	}
}

// closeBrace reads a closing brace. While others are open only more of them may follow.
func (p *parser) closeBrace() error {
	p.pos++
	p.braces = max(0, p.braces-1)
	for p.braces > 0 {
		p.skipSpace()
		found, slash := p.comment()
		switch {
		case found:
		case slash:
			return p.syntax("Unexpected EOF.")
		case p.peek() == '}':
			p.pos++
			p.braces--
		default:
			return p.syntax("Expected a block-level to end with a '}', but got '%s' instead.", p.take())
		}
	}
	return nil
}

// entry reads a key and its value, or an include. done is true where the text ends behind a lone brace.
func (p *parser) entry() (done bool, err error) {
	if c := p.peek(); isKeySep(c) {
		return false, p.syntax("Unexpected key separator '%c'", c)
	}
	key, include, err := p.key()
	if err != nil {
		return false, err
	}
	if include {
		return false, p.include()
	}
	p.skipSpace()
	if p.atEnd() {
		if key.name == "}" {
			return true, nil
		}
		return false, p.invalid()
	}
	if isKeySep(p.peek()) {
		p.pos++
	}
	p.push(key)
	p.skipBlanks()
	if isNewline(p.peek()) {
		p.next()
		return false, p.syntax("Expected value but found new line")
	}
	return false, p.value(nil)
}

// endOfEntry reads what may stand between two entries of the document.
func (p *parser) endOfEntry() error {
	for {
		p.skipBlanks()
		c := p.peek()
		switch {
		case isNewline(c), c == ',', c == ';':
			p.next()
			return nil
		case c == '}':
			return p.closeBrace()
		}
		if found, slash := p.comment(); found || slash {
			continue // a lone slash means nothing here
		}
		if c == end && p.braces == 0 {
			if !p.atEnd() {
				p.pos++
			}
			return nil
		}
		level := "top"
		if p.braces > 0 {
			level = "block"
		}
		return p.syntax("Expected a %s-level value to end with a new line, comment or EOF, but got '%s' instead.", level, p.take())
	}
}

func (p *parser) push(key keyAt) {
	p.keys = append(p.keys, key)
	p.afterKey = true
}

// key reads a key, bare or in quotes. The bare word include with a blank behind it is no key.
func (p *parser) key() (k keyAt, include bool, err error) {
	if c := p.peek(); c == '"' || c == '\'' {
		p.pos++
		start, lineStart := p.pos, p.lineStart
		for p.peek() != c {
			if p.peek() == end {
				if len(p.maps) > 1 {
					quoted := "quoted"
					if c == '"' {
						quoted = "double quoted"
					}
					return k, false, p.syntax("Unexpected EOF processing %s map key.", quoted)
				}
				return k, false, p.openQuote(start)
			}
			p.next()
		}
		k = keyAt{p.text[start:p.pos], p.place(start, lineStart)}
		p.pos++
		return k, false, nil
	}
	return p.bareKey(p.pos)
}

// bareKey reads the rest of a key without quotes that begins at start.
func (p *parser) bareKey(start int) (k keyAt, include bool, err error) {
	for {
		c := p.peek()
		if c == end && len(p.maps) > 1 {
			return k, false, p.syntax("Unexpected EOF processing map key.")
		}
		if isBlank(c) || isNewline(c) || isKeySep(c) || c == end {
			word := p.text[start:p.pos]
			if (isBlank(c) || isNewline(c)) && strings.EqualFold(word, "include") {
				return k, true, nil
			}
			return keyAt{word, p.place(start, p.lineStart)}, false, nil
		}
		p.pos++
	}
}

// include reads the name of a file, parses the file, and takes its entries into the innermost map.
func (p *parser) include() error {
	p.skipBlanks()
	var name string
	switch c := p.peek(); {
	case isNewline(c):
		p.next()
		return p.syntax("Expected include value but found new line")
	case c == '{':
		return p.syntax("Expected include value but found start of a map")
	case c == '[':
		return p.syntax("Expected include value but found start of an array")
	case c == '"', c == '\'':
		p.pos++
		start := p.pos
		for p.peek() != c {
			if p.peek() == end {
				if c == '"' {
					return p.syntax("Unexpected EOF in double quoted include")
				}
				return p.syntax("Unexpected EOF in quoted include")
			}
			p.next()
		}
		name = p.text[start:p.pos]
		p.pos++
	default:
		start := p.pos
		for c := p.peek(); !isBlank(c) && !isNewline(c) && c != '}' && c != ';' && c != end; c = p.peek() {
			p.pos++
		}
		name = p.text[start:p.pos]
	}
	path := filepath.Join(filepath.Dir(p.file), name)
	if len(p.including) >= maxIncludes || slices.Contains(p.including, path) {
		return errorOf(ErrTooDeep, "error parsing include file '%s', it includes itself or nests more than %d files", name, maxIncludes)
	}
	root, err := p.loader.file(path, p.including)
	if err != nil {
		return because(ErrInclude, err, "error parsing include file '%s', ", name)
	}
	into := p.maps[len(p.maps)-1]
	for _, m := range root.Map.Members {
		into.set(m.Key, m.Value)
	}
	return nil
}
