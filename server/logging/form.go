package logging

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"
)

// form says how a line looks. It is shared and never written.
type form struct {
	pid  string
	time bool
	utc  bool
	json bool
	tags *[6]string // by level, with brackets and a space
	bare bool       // the text alone, for syslog, which adds the rest
}

var plainTags = [6]string{Info: "[INF] ", Warn: "[WRN] ", Error: "[ERR] ", Fatal: "[FTL] ", Debug: "[DBG] ", Trace: "[TRC] "}

var colourTags = [6]string{
	Info:  "[\x1b[32mINF\x1b[0m] ",
	Warn:  "[\x1b[0;93mWRN\x1b[0m] ",
	Error: "[\x1b[31mERR\x1b[0m] ",
	Fatal: "[\x1b[31mFTL\x1b[0m] ",
	Debug: "[\x1b[36mDBG\x1b[0m] ",
	Trace: "[\x1b[33mTRC\x1b[0m] ",
}

var jsonLevels = [6]string{Info: "INFO", Warn: "WARN", Error: "ERROR", Fatal: "FATAL", Debug: "DEBUG", Trace: "TRACE"}

func newForm(o Options) *form {
	f := &form{pid: strconv.Itoa(os.Getpid()), time: o.Time, utc: o.UTC, json: o.JSON, tags: &plainTags}
	switch o.target() {
	case toSyslog:
		f.bare, f.json = true, false
	case toStderr:
		if isTerminal(o.Stderr) {
			f.tags = &colourTags
		}
	}
	return f
}

// append writes a line with its line end: "[PID] 2006/01/02 15:04:05.000000 [INF] text".
func (f *form) append(dst []byte, level Level, at time.Time, text string) []byte {
	if f.utc {
		at = at.UTC()
	}
	switch {
	case f.bare:
		dst = appendText(dst, text)
	case f.json:
		dst = f.appendJSON(dst, level, at, text)
	default:
		dst = append(append(append(dst, '['), f.pid...), "] "...)
		if f.time {
			dst = at.AppendFormat(dst, "2006/01/02 15:04:05.000000 ")
		}
		dst = append(dst, f.tags[level]...)
		dst = appendText(dst, text)
	}
	return append(dst, '\n')
}

func (f *form) appendJSON(dst []byte, level Level, at time.Time, text string) []byte {
	dst = append(dst, '{')
	if f.time {
		dst = append(dst, `"time":"`...)
		dst = at.AppendFormat(dst, "2006-01-02T15:04:05.000000Z07:00")
		dst = append(dst, `",`...)
	}
	dst = append(append(append(dst, `"level":"`...), jsonLevels[level]...), `","pid":`...)
	dst = append(append(dst, f.pid...), `,"msg":`...)
	msg, err := json.Marshal(strings.TrimRight(text, "\n"))
	if err != nil { // a string can always be encoded
		msg = []byte(`""`)
	}
	return append(append(dst, msg...), '}')
}

// appendText writes text such that it can't be taken for anything else: lines after the first are indented by
// a tab, and control characters are written as \xNN. Line ends at the end are dropped.
func appendText(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	text = strings.TrimRight(text, "\n")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			dst = append(dst, "\n\t"...)
		case c < ' ' && c != '\t', c == 0x7f:
			dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
