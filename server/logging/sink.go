package logging

import "io"

// sink is where lines end up. Only the goroutine of a queue uses it.
type sink interface {
	// write writes the lines of b, which is lent.
	write(b *batch) error
	close() error
}

// target is the kind of a sink.
type target uint8

const (
	toStderr target = iota
	toFile
	toSyslog
)

func (o Options) target() target {
	switch {
	case o.File != "":
		return toFile
	case o.RemoteSyslog != "" || o.Syslog:
		return toSyslog
	}
	return toStderr
}

// openSink opens the target of o and says how lines for it look.
func openSink(o Options) (s sink, f *form, err error) {
	f = newForm(o)
	switch o.target() {
	case toFile:
		s, err = openFile(o.File, o.SizeLimit, o.MaxFiles, f, o.Now)
	case toSyslog:
		s, err = openSyslog(o.RemoteSyslog, o.Name)
	default:
		s = writerSink{o.Stderr}
	}
	return s, f, err
}

// writerSink writes to a writer it does not own.
type writerSink struct{ w io.Writer }

func (s writerSink) write(b *batch) error {
	_, err := s.w.Write(b.data)
	return err
}

func (writerSink) close() error { return nil }
