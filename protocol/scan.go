package protocol

import "bytes"

// op is a verb of the protocol as clients send it.
type op uint8

const (
	opNone op = iota
	opPub
	opHpub
	opSub
	opUnsub
	opPing
	opPong
	opConnect
	opInfo
	opOK
	opErr
)

// verbs lists each verb in lower case. Those marked open need no blank behind them.
var verbs = [...]struct {
	text string
	op   op
	open bool
}{
	{"pub", opPub, false},
	{"sub", opSub, false},
	{"hpub", opHpub, false},
	{"unsub", opUnsub, false},
	{"ping", opPing, true},
	{"pong", opPong, true},
	{"connect", opConnect, true},
	{"info", opInfo, true},
	{"+ok", opOK, true},
	{"-err", opErr, false},
}

// verbOf returns the verb that line starts with and where its arguments begin: behind the verb and one blank.
func verbOf(line []byte) (op, int) {
	for i := range verbs {
		v := &verbs[i]
		n := len(v.text)
		if len(line) < n || !equalFold(line[:n], v.text) {
			continue
		}
		switch {
		case len(line) > n && isBlank(line[n]):
			return v.op, n + 1
		case v.open:
			return v.op, n
		}
	}
	return opNone, 0
}

// isVerbStart reports whether more bytes could make b start with a verb.
func isVerbStart(b []byte) bool {
	for i := range verbs {
		if t := verbs[i].text; len(b) <= len(t) && equalFold(b, t[:len(b)]) {
			return true
		}
	}
	return false
}

// equalFold compares b with a lower-case text, ignoring the case of letters.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func hasTab(b []byte) bool { return bytes.IndexByte(b, '\t') >= 0 }

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	return b
}

// cut splits b at its first blank; after is nil if there is none.
func cut(b []byte) (before, after []byte) {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// fields splits args at runs of blanks and tabs into f and returns their number. If there are more than f holds,
// it returns len(f).
func fields(args []byte, f [][]byte) int {
	n := 0
	for {
		args = trimBlanks(args)
		if len(args) == 0 || n == len(f) {
			return n
		}
		i := 0
		for i < len(args) && !isBlank(args[i]) && args[i] != '\r' {
			i++
		}
		if i < len(args) && args[i] == '\r' { // a CR inside the line separates, too
			if i == 0 {
				args = args[1:]
				continue
			}
		}
		f[n] = args[:i]
		n++
		args = args[i:]
	}
}

// parseSize reads a decimal number of at most 9 digits, nothing else around it.
func parseSize(b []byte) (n int, ok bool) {
	if len(b) == 0 || len(b) > maxSizeDigits {
		return 0, false
	}
	for _, c := range b {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int(d)
	}
	return n, true
}

// parseSizes reads the two sizes of HPUB; the header block cannot be larger than all.
func parseSizes(head, total []byte) (h, t int, ok bool) {
	h, ok1 := parseSize(head)
	t, ok2 := parseSize(total)
	return h, t, ok1 && ok2 && h <= t
}
