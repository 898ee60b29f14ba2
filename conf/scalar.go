package conf

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// scalar reads a value that is neither a list nor a map.
func (p *parser) scalar(list *Value) error {
	start, lineStart := p.pos, p.lineStart
	switch c := p.peek(); {
	case c == '\'':
		return p.raw(list)
	case c == '"':
		return p.quoted(list)
	case c == '(':
		return p.block(list)
	case c == '-':
		p.pos++
		if p.peek() == '.' {
			return p.syntax("Floats must start with a digit, not '.'.")
		}
		if !isDigit(p.peek()) {
			return p.syntax("Expected a digit but got '%s'.", p.take())
		}
		for isDigit(p.peek()) {
			p.pos++
		}
		switch {
		case p.peek() == '.':
			return p.float(list, start)
		case isSize(p.peek()):
			return p.sized(list, start)
		}
		return p.integer(list, start, p.pos)
	case isDigit(c):
		return p.number(list)
	case c == '.':
		return p.syntax("Floats must start with a digit")
	}
	return p.bare(list, start, lineStart)
}

// number reads what starts with a digit: an integer, a size, a float, a time, an IP address, or a word.
func (p *parser) number(list *Value) error {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	switch c := p.peek(); {
	case c == '-':
		if p.pos++; p.pos-start != len("2006-") {
			return p.syntax("All ISO8601 dates must be in full Zulu form.")
		}
		return p.time(list, start)
	case c == '.':
		return p.float(list, start)
	case isSize(c):
		return p.sized(list, start)
	case endsNumber(c):
		return p.integer(list, start, p.pos)
	}
	// A word. Its first character behind the digits is taken whatever it is.
	p.take()
	return p.bare(list, start, p.lineStart)
}

func isSize(c byte) bool { return strings.IndexByte("kKmMgGtTpPeE", c) >= 0 }

func endsNumber(c byte) bool {
	return isBlank(c) || isNewline(c) || c == end || c == ';' || c == ',' || c == '}'
}

// sized reads the unit behind an integer; a word if more follows.
func (p *parser) sized(list *Value, start int) error {
	digits := p.pos
	for p.pos++; strings.IndexByte("iIbB", p.peek()) >= 0 && !p.atEnd(); {
		p.pos++
	}
	if endsNumber(p.peek()) {
		return p.integer(list, start, digits)
	}
	return p.bare(list, start, p.lineStart)
}

// unit returns how many of one a unit stands for; 0 for what is none.
func unit(s string) int64 {
	s = strings.ToLower(s)
	if s == "" {
		return 1
	}
	base := int64(1000)
	switch s[1:] {
	case "":
	case "b", "i", "ib":
		base = 1024
	default:
		return 0
	}
	n := int64(1)
	for range strings.IndexByte("kmgtpe", s[0]) + 1 {
		n *= base
	}
	return n
}

// integer stores the number from start on, whose unit begins at digits. The original lets a size grow past
// 64 bits and drops a number with an unknown unit; neither is ever meant, so both are errors here.
func (p *parser) integer(list *Value, start, digits int) error {
	n, err := strconv.ParseInt(p.text[start:digits], 10, 64)
	if err != nil {
		return errorOf(ErrValue, "integer '%s' is out of the range", p.text[start:digits])
	}
	size := unit(p.text[digits:p.pos])
	if size == 0 {
		return p.syntax("Unknown unit '%s' of a number", p.text[digits:p.pos])
	}
	if n > math.MaxInt64/size || n < math.MinInt64/size {
		return errorOf(ErrValue, "integer '%s' is out of the range", p.text[start:p.pos])
	}
	p.store(list, &Value{Kind: Int, Num: n * size, Pos: p.place(start, p.lineStart)})
	return nil
}

// float reads from the point on; an IP address if there is a second point.
func (p *parser) float(list *Value, start int) error {
	p.pos++
	if !isDigit(p.peek()) {
		return p.syntax("Floats must have a digit after the '.', but got '%s' instead.", p.take())
	}
	for isDigit(p.peek()) {
		p.pos++
	}
	if p.peek() == '.' {
		for c := p.peek(); isDigit(c) || c == '.' || c == ':' || c == '-'; c = p.peek() {
			p.pos++
		}
		p.store(list, &Value{Text: p.text[start:p.pos], Pos: p.place(start, p.lineStart)})
		return nil
	}
	f, err := strconv.ParseFloat(p.text[start:p.pos], 64)
	if err != nil {
		return errorOf(ErrValue, "float '%s' is out of the range", p.text[start:p.pos])
	}
	p.store(list, &Value{Kind: Float, Real: f, Pos: p.place(start, p.lineStart)})
	return nil
}

// time reads a date and time in Zulu form from behind the year on.
func (p *parser) time(list *Value, start int) error {
	for _, want := range "00-00T00:00:00Z" {
		c := p.peek()
		switch {
		case want == '0' && !isDigit(c):
			return p.syntax("Expected digit in ISO8601 datetime, but found '%s' instead.", p.take())
		case want != '0' && c != byte(want):
			return p.syntax("Expected '%c' in ISO8601 datetime, but found '%s' instead.", want, p.take())
		}
		p.pos++
	}
	at, err := time.Parse("2006-01-02T15:04:05Z", p.text[start:p.pos])
	if err != nil {
		return errorOf(ErrValue, "expected Zulu formatted DateTime, but got '%s'", p.text[start:p.pos])
	}
	p.store(list, &Value{Kind: Time, At: at, Pos: p.place(start, p.lineStart)})
	return nil
}

// block reads text in parentheses, of which the closing one stands alone on its line.
func (p *parser) block(list *Value) error {
	p.pos++
	start, lineStart := p.pos, p.lineStart
	for {
		switch c := p.next(); {
		case c == end:
			return p.syntax("Unexpected EOF processing block.")
		case c == ')' && p.pos-2 >= start && p.text[p.pos-2] == '\n' && (p.atEnd() || p.peek() == '\n'):
			p.store(list, &Value{Text: p.text[start : p.pos-1], Pos: p.place(start, lineStart)})
			return nil
		}
	}
}

// raw reads a string in single quotes, in which nothing is special.
func (p *parser) raw(list *Value) error {
	p.pos++
	start, lineStart := p.pos, p.lineStart
	for p.peek() != '\'' {
		if p.peek() == end {
			return p.openQuote(start)
		}
		p.next()
	}
	p.store(list, &Value{Text: p.text[start:p.pos], Pos: p.place(start, lineStart)})
	p.pos++
	return nil
}

// quoted reads a string in double quotes.
func (p *parser) quoted(list *Value) error {
	p.pos++
	begin, lineStart := p.pos, p.lineStart
	start := p.pos
	var b strings.Builder
	for {
		switch c := p.peek(); c {
		case end:
			if start != begin && start == p.pos {
				p.pos-- // the original takes the last character of an escape for the end
				return errEOF
			}
			return p.openQuote(start)
		case '\\':
			b.WriteString(p.text[start:p.pos])
			if err := p.escape(&b); err != nil {
				return err
			}
			start = p.pos
		case '"':
			b.WriteString(p.text[start:p.pos])
			p.store(list, &Value{Text: b.String(), Pos: p.place(begin, lineStart)})
			p.pos++
			return nil
		default:
			p.next()
		}
	}
}

// openQuote is the error about a quote that is never closed; start is where its last piece began.
func (p *parser) openQuote(start int) error {
	if p.atEnd() && p.pos == start {
		return errEOF
	}
	return p.syntax("Unexpected EOF.")
}

// escape reads from a backslash on and appends what it stands for.
func (p *parser) escape(b *strings.Builder) error {
	p.pos++
	switch p.peek() {
	case 't':
		b.WriteByte('\t')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case '"':
		b.WriteByte('"')
	case '\\':
		b.WriteByte('\\')
	case 'x':
		p.pos++
		for range 2 {
			if isNewline(p.peek()) {
				p.next()
				return p.syntax("Expected two hexadecimal digits after '\\x', but hit end of line")
			}
			p.take()
		}
		digits := p.text[p.pos-2 : p.pos]
		n, err := strconv.ParseUint(digits, 16, 8)
		if err != nil {
			return p.syntax("Expected two hexadecimal digits after '\\x', but got '%s'", digits)
		}
		b.WriteByte(byte(n))
		return nil
	default:
		return p.syntax("Invalid escape character '%s'. Only the following escape characters are allowed: "+
			`\xXX, \t, \n, \r, \", \\.`, p.take())
	}
	p.pos++
	return nil
}

// bare reads a word without quotes, which began at begin: a boolean, a variable, or a string. A single
// quote ends the word, is consumed, and makes it a string.
func (p *parser) bare(list *Value, begin, lineStart int) error {
	start := begin
	var b strings.Builder
	for {
		c := p.peek()
		if c == '\\' {
			b.WriteString(p.text[start:p.pos])
			if err := p.escape(&b); err != nil {
				return err
			}
			start = p.pos
			continue
		}
		if isBlank(c) || isNewline(c) || c == end || c == ',' || c == ';' || c == ']' || c == '}' || c == '\'' {
			break
		}
		p.pos++
	}
	pos := p.place(begin, lineStart)
	word := p.text[start:p.pos]
	quote := p.peek() == '\''
	if quote {
		p.pos++
	}
	if b.Len() > 0 || quote {
		b.WriteString(word)
		p.store(list, &Value{Text: b.String(), Pos: pos})
		return nil
	}
	switch {
	case isTrue(word), isFalse(word):
		p.store(list, &Value{Kind: Bool, Flag: isTrue(word), Pos: pos})
	case strings.HasPrefix(word, "$") && !strings.HasPrefix(word, "$2a$"):
		v, err := p.variable(word[1:])
		if err != nil {
			return err
		}
		pos.Col++ // that of the name, as the original counts
		p.store(list, v.at(pos))
	default:
		p.store(list, &Value{Text: word, Pos: pos})
	}
	return nil
}

func isTrue(s string) bool {
	return strings.EqualFold(s, "true") || strings.EqualFold(s, "yes") || strings.EqualFold(s, "on")
}

func isFalse(s string) bool {
	return strings.EqualFold(s, "false") || strings.EqualFold(s, "no") || strings.EqualFold(s, "off")
}
