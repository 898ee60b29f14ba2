// Package protocol holds the NATS client protocol as bytes: the parser of what clients send, the frames that
// servers send, INFO and CONNECT. It does no I/O.
package protocol

import (
	"bytes"
	"errors"
)

// Errors of the parser. All are final: the connection is closed. Those with a text that clients see are sent as
// -ERR first (see Text); the others close silently, as clients of the protocol expect.
var (
	ErrUnknownOp   = errors.New("unknown protocol operation")
	ErrControlLine = errors.New("maximum control line exceeded")
	ErrMaxPayload  = errors.New("maximum payload violation")
	ErrArguments   = errors.New("malformed arguments") // silent
	ErrPeer        = errors.New("client reported an error")
)

// DefaultControlLine and DefaultPayload are the protocol's default limits in bytes.
const (
	DefaultControlLine = 4096
	DefaultPayload     = 1 << 20
)

const maxSizeDigits = 9 // more digits in a size are invalid, whatever their value

// Handler takes the frames of one connection, in order. All slices are lent until the method returns. An error
// ends parsing and is returned by Parse as it is.
type Handler interface {
	Connect(json []byte) error
	Publish(p *Pub) error
	// Subscribe takes SUB; queue is empty for a plain subscription.
	Subscribe(subject, queue, sid []byte) error
	// Unsubscribe takes UNSUB; max is 0 for an immediate one.
	Unsubscribe(sid []byte, max uint64) error
	Ping() error
	Pong() error
	// PeerError takes a -ERR sent by the client.
	PeerError(text []byte) error
}

// Pub is a PUB or HPUB frame.
type Pub struct {
	Subject []byte
	Reply   []byte // empty if there is none
	// Tail is the frame after the subject and its blank, in normal form: "[reply ]<size>\r\n<payload>\r\n", for HPUB
	// with two sizes. A MSG frame ends in the same bytes, which is why they need not be built again.
	Tail []byte
	Body []byte // header block and payload
	// HeaderLen is the length of the header block at the start of Body. It may be 0 for an HPUB too.
	HeaderLen int
	HPUB      bool
	// Same says that Subject equals that of the Pub before, so that its route is known.
	Same bool
}

// Header returns the header block, empty if there is none.
func (p *Pub) Header() []byte { return p.Body[:p.HeaderLen] }

// Payload returns what follows the header block.
func (p *Pub) Payload() []byte { return p.Body[p.HeaderLen:] }

// Parser decodes the byte stream of one client. It belongs to the goroutine that reads the connection. It holds no
// bytes of incomplete frames: the caller keeps them and passes them again with what followed.
type Parser struct {
	// ControlLine and Payload are limits in bytes: of the arguments of any verb, and of header block plus payload.
	ControlLine int
	Payload     int
	// Gate, if not nil, is asked before each frame with the frame's first byte. The owner sets it while a client
	// has yet to log in, and to nil afterwards.
	Gate func(first byte) error
	// Want is the number of bytes that the incomplete frame at the end of the last Parse needs, as far as known:
	// parsing again with fewer brings nothing. It is 0 if unknown.
	Want int

	repeat repeat
	pub    Pub
	norm   []byte // frame in normal form, for publish lines that are not
}

// repeat remembers the last publish line. Publishers send long runs to one subject, mostly of one size: an equal
// line costs one comparison, one to the same subject a second one and the rest of the line, instead of search,
// hash and lookup.
type repeat struct {
	line  []byte // a copy of the last whole line without reply, to the subject in verb; may be empty
	verb  []byte // a copy of "PUB <subject> " or "HPUB <subject> "; empty if there is none
	start int    // where the subject begins in verb
	size  int    // of the body that follows line
	head  int    // of its header block
	set   bool   // pub says what is the same for all that repeat line
}

func (r *repeat) subject() []byte { return r.verb[r.start : len(r.verb)-1] }

// Forget makes the next Pub not Same. The owner of a route cache calls it when it drops its routes.
func (p *Parser) Forget() {
	p.repeat.line, p.repeat.verb, p.repeat.set = p.repeat.line[:0], p.repeat.verb[:0], false
}

// Parse handles the whole frames at the start of buf, which is lent, and returns how many bytes they were. The
// rest is an incomplete frame; see Want.
func (p *Parser) Parse(buf []byte, h Handler) (used int, err error) {
	p.Want = 0
	for used < len(buf) {
		b := buf[used:]
		var n int
		if p.Gate != nil {
			if err := p.Gate(b[0]); err != nil {
				return used, err
			}
		}
		r := &p.repeat
		switch k := len(r.line); {
		case k > 0 && len(b) >= k && string(b[:k]) == string(r.line):
			n, err = p.repeated(b, h)
		case len(r.verb) > 0 && len(b) > len(r.verb) && string(b[:len(r.verb)]) == string(r.verb):
			n, err = p.again(b, h)
		default:
			n, err = p.frame(b, h)
		}
		if n == 0 || err != nil {
			return used, err
		}
		used += n
	}
	return used, nil
}

// repeated handles a publish line that equals the last one. Like all that handle a frame it returns its length, or 0 if
// it is incomplete.
func (p *Parser) repeated(b []byte, h Handler) (int, error) {
	r, body := &p.repeat, len(p.repeat.line)
	end, err := p.frameEnd(b, body, r.size)
	if end == 0 {
		return 0, err
	}
	pub := &p.pub
	pub.Tail, pub.Body = b[len(r.verb):end], b[body:end-2]
	if !r.set {
		pub.Reply, pub.HeaderLen, pub.HPUB, pub.Same = nil, r.head, r.start == len("HPUB "), true
		r.set = true
	}
	return end, h.Publish(pub)
}

// again handles a publish to the same subject as before.
func (p *Parser) again(b []byte, h Handler) (int, error) {
	r := &p.repeat
	lf := bytes.IndexByte(b[len(r.verb):], '\n')
	if lf < 0 {
		return 0, p.incomplete(b)
	}
	return p.publish(b, r.start, len(r.verb)+lf, h)
}

// frame handles any frame.
func (p *Parser) frame(b []byte, h Handler) (int, error) {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return 0, p.incomplete(b)
	}
	op, at := verbOf(b[:lf])
	switch op {
	case opPub, opHpub:
		return p.publish(b, at, lf, h)
	case opNone:
		return 0, ErrUnknownOp
	}
	line := b[at:lf]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(line) > p.ControlLine {
		return 0, ErrControlLine
	}
	if err := p.control(op, trimBlanks(line), h); err != nil {
		return 0, err
	}
	return lf + 1, nil
}

func (p *Parser) control(op op, args []byte, h Handler) error {
	switch op {
	case opPing:
		return h.Ping()
	case opPong:
		return h.Pong()
	case opConnect:
		return h.Connect(args)
	case opErr:
		return h.PeerError(args)
	case opSub:
		var f [4][]byte
		switch fields(args, f[:]) {
		case 2:
			return h.Subscribe(f[0], nil, f[1])
		case 3:
			return h.Subscribe(f[0], f[1], f[2])
		}
		return ErrArguments
	case opUnsub:
		var f [3][]byte
		n := fields(args, f[:])
		if n != 1 && n != 2 {
			return ErrArguments
		}
		var limit uint64
		if n == 2 {
			if size, ok := parseSize(f[1]); ok {
				limit = uint64(size)
			}
		}
		return h.Unsubscribe(f[0], limit)
	}
	return nil // INFO and +OK say nothing to a server
}

// incomplete checks a line whose end has not arrived: what cannot become valid is refused at once.
func (p *Parser) incomplete(b []byte) error {
	op, at := verbOf(b)
	if op == opNone {
		if isVerbStart(b) {
			return nil
		}
		return ErrUnknownOp
	}
	args := b[at:]
	if n := len(args); n > 0 && args[n-1] == '\r' {
		args = args[:n-1]
	}
	if len(args) > p.ControlLine {
		return ErrControlLine
	}
	return nil
}

// publish handles the PUB or HPUB at the start of b, whose arguments begin at at and whose line ends at lf.
func (p *Parser) publish(b []byte, at, lf int, h Handler) (int, error) {
	args := b[at:lf]
	if n := len(args); n > 0 && args[n-1] == '\r' {
		args = args[:n-1]
	}
	if len(args) > p.ControlLine {
		return 0, ErrControlLine
	}
	hpub := b[0]|0x20 == 'h'
	pub := &p.pub
	sp := bytes.IndexByte(args, ' ')
	if sp <= 0 || len(args) == lf-at || at != 4 && !(hpub && at == 5) || hasTab(args) {
		return p.publishLoose(b, args, lf, hpub, h)
	}
	rest := args[sp+1:]
	var reply []byte
	head, ok := 0, false
	size := 0
	first, more := cut(rest)
	if !hpub {
		if more == nil {
			size, ok = parseSize(first)
		} else {
			reply = first
			size, ok = parseSize(more)
		}
	} else if more != nil {
		second, third := cut(more)
		if third == nil {
			head, size, ok = parseSizes(first, second)
		} else {
			reply = first
			head, size, ok = parseSizes(second, third)
		}
	}
	if !ok || more != nil && len(first) == 0 {
		return p.publishLoose(b, args, lf, hpub, h)
	}
	end, err := p.frameEnd(b, lf+1, size)
	if end == 0 {
		return 0, err
	}
	pub.Reply, pub.Tail, pub.Body = reply, b[at+sp+1:end], b[lf+1:end-2]
	pub.HeaderLen, pub.HPUB = head, hpub
	r := &p.repeat
	verb := b[:at+sp+1]
	pub.Same = len(r.verb) > 0 && string(verb[at:]) == string(r.verb[r.start:])
	if !pub.Same || at != r.start {
		r.verb, r.line = append(r.verb[:0], verb...), r.line[:0]
		r.start = at
	}
	pub.Subject = r.subject()
	r.set = false
	if reply == nil {
		r.line = append(r.line[:0], b[:lf+1]...)
		r.size, r.head = size, head
	}
	return end, h.Publish(pub)
}

// publishLoose handles a line with tabs, several blanks or a bare LF: it builds the tail as it should be.
func (p *Parser) publishLoose(b, args []byte, lf int, hpub bool, h Handler) (int, error) {
	var f [5][]byte
	n := fields(args, f[:])
	want, sizes := 2, 1
	if hpub {
		want, sizes = 3, 2
	}
	if n != want && n != want+1 {
		return 0, ErrArguments
	}
	var head, size int
	var ok bool
	if hpub {
		head, size, ok = parseSizes(f[n-2], f[n-1])
	} else {
		size, ok = parseSize(f[n-1])
	}
	if !ok {
		return 0, ErrArguments
	}
	end, err := p.frameEnd(b, lf+1, size)
	if end == 0 {
		return 0, err
	}
	p.Forget()
	pub := &p.pub
	*pub = Pub{Subject: f[0], HeaderLen: head, HPUB: hpub, Body: b[lf+1 : end-2]}
	p.norm = p.norm[:0]
	if n > want {
		pub.Reply = f[1]
		p.norm = append(append(p.norm, f[1]...), ' ')
	}
	for i, s := range f[n-sizes : n] {
		if i > 0 {
			p.norm = append(p.norm, ' ')
		}
		p.norm = append(p.norm, s...)
	}
	p.norm = append(append(p.norm, '\r', '\n'), b[lf+1:end]...)
	pub.Tail = p.norm
	err = h.Publish(pub)
	if cap(p.norm) > 64<<10 {
		p.norm = nil
	}
	return end, err
}

// frameEnd returns the length of the frame whose body begins at body, or 0 and Want if it is not all there.
func (p *Parser) frameEnd(b []byte, body, size int) (int, error) {
	if size > p.Payload {
		return 0, ErrMaxPayload
	}
	end := body + size + 2
	if len(b) < end {
		p.Want = end
		return 0, nil
	}
	if b[end-2] != '\r' || b[end-1] != '\n' {
		return 0, ErrUnknownOp
	}
	return end, nil
}
