package conf

// value reads one value, of any kind, and stores it: in list, or else under the newest key that waits.
// The caller has skipped what may stand before it.
func (p *parser) value(list *Value) error {
	switch c := p.peek(); {
	case c == '[':
		return p.list(list)
	case c == '{':
		return p.mapping(list)
	default:
		return p.scalar(list)
	}
}

// store puts v where it belongs; in a map it takes the place of its key.
func (p *parser) store(list, v *Value) {
	p.afterKey = false
	if list != nil {
		list.List = append(list.List, v)
		return
	}
	if len(p.keys) == 0 {
		return
	}
	key := p.keys[len(p.keys)-1]
	p.keys = p.keys[:len(p.keys)-1]
	v.Pos = key.pos
	p.maps[len(p.maps)-1].set(key.name, v)
}

func (p *parser) open() error {
	p.pos++
	p.afterKey = false
	if p.depth++; p.depth > maxDepth {
		return errorOf(ErrTooDeep, "Parse error on line %d: 'More than %d brackets within brackets'", p.line, maxDepth)
	}
	return nil
}

// list reads from "[" to "]". Values are separated by one comma or by new lines.
func (p *parser) list(outer *Value) error {
	if err := p.open(); err != nil {
		return err
	}
	v := &Value{Kind: List, List: []*Value{}}
	for {
		p.skipSpace()
		found, slash := p.comment()
		if found {
			continue
		}
		c := p.peek()
		if c == ',' || slash {
			return p.syntax("Unexpected array value terminator ','.")
		}
		if c != ']' {
			if err := p.value(v); err != nil {
				return err
			}
			if err := p.endOfElement(); err != nil {
				return err
			}
			if p.text[p.pos-1] != ']' {
				continue
			}
		} else {
			p.pos++
		}
		p.depth--
		v.Pos = p.here()
		p.store(outer, v)
		return nil
	}
}

// endOfElement reads a separator or the closing bracket behind an element of a list.
func (p *parser) endOfElement() error {
	for {
		p.skipBlanks()
		found, slash := p.comment()
		if found {
			continue
		}
		if slash {
			return nil
		}
		if c := p.peek(); isNewline(c) || c == ',' || c == ']' {
			p.next()
			return nil
		}
		return p.syntax("Expected an array value terminator %q or an array terminator %q, but got '%s' instead.", ",", "]", p.take())
	}
}

// mapping reads from "{" to "}".
func (p *parser) mapping(outer *Value) error {
	if err := p.open(); err != nil {
		return err
	}
	v := &Value{Kind: MapKind, Map: newMap()}
	p.maps = append(p.maps, v.Map)
	for {
		closed, err := p.member()
		if err != nil {
			return err
		}
		if closed {
			break
		}
	}
	p.depth--
	p.maps = p.maps[:len(p.maps)-1]
	v.Pos = p.here()
	p.store(outer, v)
	return nil
}

// member reads one key with its value and the separator behind it, or the brace that closes the map.
func (p *parser) member() (closed bool, err error) {
	slash, found := false, true
	for found {
		p.skipSpace()
		found, slash = p.comment()
	}
	if slash { // a lone one starts a key; it is no part of it, but what follows is, whatever it is
		start := p.pos
		p.next()
		return p.rest(p.bareKey(start))
	}
	switch c := p.peek(); {
	case c == end:
		return false, p.syntax("Unexpected EOF processing map.")
	case isKeySep(c):
		return false, p.syntax("Unexpected key separator '%c'.", c)
	case c == ']':
		return false, p.syntax("Unexpected array end ']' processing map.")
	case c == '}':
		p.pos++
		return true, nil
	}
	return p.rest(p.key())
}

// rest reads what follows the key of a member.
func (p *parser) rest(key keyAt, include bool, err error) (closed bool, _ error) {
	if err != nil {
		return false, err
	}
	if include {
		if err := p.include(); err != nil {
			return false, err
		}
		return p.endOfMember()
	}
	p.push(key)
	p.skipSpace()
	if isKeySep(p.peek()) {
		p.pos++
	}
	p.skipSpace()
	switch p.peek() {
	case ',':
		return false, p.syntax("Unexpected map value terminator %q.", ",")
	case '}':
		p.pos++
		return true, nil
	}
	if err := p.value(nil); err != nil {
		return false, err
	}
	return p.endOfMember()
}

// endOfMember reads a separator or the closing brace behind a member of a map.
func (p *parser) endOfMember() (closed bool, err error) {
	for {
		p.skipBlanks()
		found, slash := p.comment()
		if found {
			continue
		}
		if slash {
			return false, nil
		}
		switch c := p.peek(); {
		case isNewline(c), c == ',', c == ';':
			p.next()
			return false, nil
		case c == '}':
			p.pos++
			return true, nil
		}
		return false, p.syntax("Expected a map value terminator %q or a map terminator %q, but got '%s' instead.", ",", "}", p.take())
	}
}
