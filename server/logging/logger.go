// Package logging writes the server's log: lines in nats-server's form or as JSON, to standard error, to a file
// with rotation, to the local syslog or to a remote one.
//
// A call never waits for the target. Lines go into a bounded queue in memory, and one goroutine writes them in
// batches. When the target is so slow that the queue is full, new lines are lost, debug and trace lines first;
// how many is said in the log once there is room again, and in Stats.
package logging

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Errors that callers act on.
var (
	ErrClosed = errors.New("logger is closed")
	// ErrSlow is returned when a target did not take what was queued within the time allowed.
	ErrSlow = errors.New("log target did not take all lines in time")
)

// lineBytesKept is the largest line buffer kept for the next line.
const lineBytesKept = 16 << 10

// flushTimeout bounds how long Fatalf and Close wait for the target.
const flushTimeout = time.Second

// Options configures a Logger. The first of File, RemoteSyslog and Syslog that is set decides the target;
// without any it is Stderr.
type Options struct {
	File         string // path
	SizeLimit    int64  // bytes at which File is rotated; 0 is never
	MaxFiles     int    // files kept, the one being written included; 0 is all
	RemoteSyslog string // URL: udp://host:port, tcp://host:port, unix:///path
	Syslog       bool   // the syslog of this machine

	Time  bool // date and time in every line; syslog adds its own always
	UTC   bool // in UTC, not in local time
	JSON  bool // one JSON object a line, with the keys time, level, pid and msg; not for syslog
	Debug bool
	Trace bool

	Name       string    // program's name for syslog; default: base name of the executable
	QueueBytes int       // bound of the lines waiting to be written; default 4 MiB
	Stderr     io.Writer // default os.Stderr; tags are coloured if it is a terminal
	// RepeatEvery is how often the same warning is logged by the RateLimit functions; default 10 s.
	RepeatEvery time.Duration
	Now         func() time.Time // default time.Now
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = filepath.Base(os.Args[0])
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = 4 << 20
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.RepeatEvery <= 0 {
		o.RepeatEvery = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Level is the weight of a line.
type Level uint8

// The levels. Debug and Trace lines are written only while they are switched on.
const (
	Info Level = iota
	Warn
	Error
	Fatal
	Debug
	Trace
)

// Logger writes the log. It is safe for concurrent use.
type Logger struct {
	debug, trace atomic.Bool
	form         atomic.Pointer[form]
	lines        sync.Pool // of *[]byte, in which lines are formatted
	now          func() time.Time
	q            *queue
	repeats      *repeats
	options      Options // as last set; the goroutine of Reconfigure owns it
}

// New opens the target and returns a Logger for it. Close must be called.
func New(o Options) (*Logger, error) {
	o = o.withDefaults()
	sink, form, err := openSink(o)
	if err != nil {
		return nil, err
	}
	l := &Logger{now: o.Now, options: o, repeats: newRepeats(o.RepeatEvery)}
	l.form.Store(form)
	l.debug.Store(o.Debug)
	l.trace.Store(o.Trace)
	l.q = newQueue(sink, o.QueueBytes, l.format, o.Stderr)
	return l, nil
}

// Discard returns a Logger that writes nowhere. It has no goroutine; closing it is allowed and not needed.
func Discard() *Logger {
	l := &Logger{now: time.Now, repeats: newRepeats(10 * time.Second)}
	l.form.Store(&form{})
	return l
}

// Noticef logs what an operator wants to know.
func (l *Logger) Noticef(format string, args ...any) { l.logf(Info, format, args) }

// Warnf logs what may need attention.
func (l *Logger) Warnf(format string, args ...any) { l.logf(Warn, format, args) }

// Errorf logs a failure the server goes on after.
func (l *Logger) Errorf(format string, args ...any) { l.logf(Error, format, args) }

// Fatalf logs a failure the server can't go on after, and waits up to a second until it is written. The process
// goes on: ending it is up to the caller.
func (l *Logger) Fatalf(format string, args ...any) {
	l.logf(Fatal, format, args)
	_ = l.Flush(flushTimeout) // a log that can't be written can't be complained about in the log
}

// Debugf logs a detail, if these are switched on.
func (l *Logger) Debugf(format string, args ...any) {
	if l.debug.Load() {
		l.logf(Debug, format, args)
	}
}

// Tracef logs a protocol line, if these are switched on. The caller formats it.
func (l *Logger) Tracef(format string, args ...any) {
	if l.trace.Load() {
		l.logf(Trace, format, args)
	}
}

// DebugEnabled and TraceEnabled let callers skip the work of preparing a line nobody writes.
func (l *Logger) DebugEnabled() bool { return l.debug.Load() }

// TraceEnabled says whether Tracef writes.
func (l *Logger) TraceEnabled() bool { return l.trace.Load() }

// SetDebug switches debug lines.
func (l *Logger) SetDebug(on bool) { l.debug.Store(on) }

// SetTrace switches trace lines.
func (l *Logger) SetTrace(on bool) { l.trace.Store(on) }

func (l *Logger) logf(level Level, format string, args []any) {
	if l.q == nil {
		return
	}
	buf, ok := l.lines.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	*buf = l.format((*buf)[:0], level, l.now(), fmt.Sprintf(format, args...))
	l.q.add(level, *buf)
	if cap(*buf) <= lineBytesKept {
		l.lines.Put(buf)
	}
}

func (l *Logger) format(dst []byte, level Level, at time.Time, text string) []byte {
	return l.form.Load().append(dst, level, at, text)
}

// Stats counts what went wrong with the log itself.
type Stats struct {
	Lost        uint64 // lines that found the queue full
	WriteErrors uint64 // batches the target refused
}

// Stats returns the counts since New.
func (l *Logger) Stats() Stats {
	if l.q == nil {
		return Stats{}
	}
	return l.q.stats()
}

// Flush waits until the lines logged so far are written, at most for timeout. Errors: ErrSlow, ErrClosed.
func (l *Logger) Flush(timeout time.Duration) error {
	if l.q == nil {
		return nil
	}
	return l.q.do(timeout, func(s sink) (sink, error) { return s, nil })
}

// Reopen closes the log file and opens it by its name again, after someone moved it. What was logged before goes
// to the old file. The outcome is logged; with another target than a file there is nothing to do.
func (l *Logger) Reopen() error {
	if l.q == nil {
		return nil
	}
	var reopened bool
	err := l.q.do(reopenTimeout, func(s sink) (sink, error) {
		f, ok := s.(*fileSink)
		if !ok {
			return s, nil
		}
		reopened = true
		return s, f.reopen()
	})
	switch {
	case err != nil:
		l.Errorf("Error re-opening log file: %v", err)
	case reopened:
		l.Noticef("File log re-opened")
	default:
		l.Noticef("File log re-open ignored, not a file logger")
	}
	return err
}

// reopenTimeout bounds how long a change of the target waits for the old one.
const reopenTimeout = 5 * time.Second

// Reconfigure goes over to the target, form and switches of o. If the new target can't be opened nothing
// changes. What was logged before goes to the old target, which is closed. One call at a time. QueueBytes,
// RepeatEvery, Stderr and Now stay as they were.
func (l *Logger) Reconfigure(o Options) error {
	if l.q == nil {
		return nil
	}
	o.QueueBytes, o.RepeatEvery, o.Stderr, o.Now = l.options.QueueBytes, l.options.RepeatEvery, l.options.Stderr, l.options.Now
	o = o.withDefaults()
	if o.sameTarget(l.options) {
		l.form.Store(newForm(o))
	} else if err := l.replaceTarget(o); err != nil {
		return err
	}
	l.options = o
	l.debug.Store(o.Debug)
	l.trace.Store(o.Trace)
	return nil
}

// sameTarget says whether o and p write to the same place in the same way.
func (o Options) sameTarget(p Options) bool {
	return o.File == p.File && o.SizeLimit == p.SizeLimit && o.MaxFiles == p.MaxFiles &&
		o.RemoteSyslog == p.RemoteSyslog && o.Syslog == p.Syslog && o.Name == p.Name
}

func (l *Logger) replaceTarget(o Options) error {
	next, form, err := openSink(o)
	if err != nil {
		return err
	}
	err = l.q.do(reopenTimeout, func(old sink) (sink, error) {
		l.form.Store(form)
		return next, old.close()
	})
	if errors.Is(err, ErrClosed) {
		_ = next.close()
	}
	return err
}

// Close writes what is queued, waiting at most a second for a slow target, and closes the target. Lines
// logged later are lost. It may be called twice.
func (l *Logger) Close() error {
	if l.q == nil {
		return nil
	}
	return l.q.close(flushTimeout)
}

// Writer returns a writer that logs every write as a line of the given level.
func (l *Logger) Writer(level Level) io.Writer { return levelWriter{l, level} }

type levelWriter struct {
	l     *Logger
	level Level
}

func (w levelWriter) Write(b []byte) (int, error) {
	w.l.logf(w.level, "%s", []any{b})
	return len(b), nil
}
