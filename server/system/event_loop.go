package system

import (
	"time"

	"godwit/server/account"
	"godwit/server/monitor"
)

// STATSZ is sent soon after the start, so that the server is known at once, and then less and less often.
const (
	statszFirst  = 250 * time.Millisecond // after the start
	statszSecond = time.Second            // after the first; from then on twice as long each time
	statszMax    = 10 * time.Second
)

// eventsKept is the length of a queue whose memory is used again.
const eventsKept = 256

// run sends what is queued and what is due until Close, at last that the server shuts down.
func (e *Events) run() {
	out := newOutput(e.s.system)
	stats, interval := time.NewTimer(statszFirst), statszSecond
	defer stats.Stop()
	beat := time.NewTimer(connsHeartbeat)
	defer beat.Stop()
	for {
		select {
		case <-e.wake:
		case <-beat.C:
		case <-stats.C:
			stats.Reset(interval)
			interval = min(2*interval, statszMax)
			e.sendIfWanted(out, "STATSZ", func() any { return e.s.stats() })
		case <-e.s.stop:
			e.sendQueued(out)
			e.sendIfWanted(out, "SHUTDOWN", func() any { return e.s.about() })
			out.flush()
			return
		}
		e.sendQueued(out)
		e.sendBeats(out, time.Now())
		out.flush()
		out.rest()
		beat.Reset(time.Until(e.beats.next(time.Now())))
	}
}

// sendQueued sends what the hooks have queued.
func (e *Events) sendQueued(out *output) {
	e.mu.Lock()
	queue := e.mu.queue
	e.mu.queue = e.spare[:0]
	e.mu.Unlock()
	figures := accountFigures{s: e.s}
	for i := range queue {
		e.send(out, &queue[i], &figures)
	}
	clear(queue)
	if e.spare = queue; cap(queue) > eventsKept {
		e.spare = nil
	}
}

func (e *Events) send(out *output, ev *event, figures *accountFigures) {
	var v any
	in := e.s.system
	switch ev.kind {
	case eventConnect:
		v = &connectEvent{e.s.advisory(typeConnect, ev.at), describe(ev.conn, ev.at)}
	case eventDisconnect:
		v = e.s.disconnectEvent(ev)
		if ev.account != nil {
			in = ev.account
		}
	case eventConns:
		st := figures.of(ev.account, ev.conns)
		if st == nil {
			return
		}
		v = e.s.connsEvent(st)
	case eventLameDuck:
		v = e.s.about()
	case eventMade:
		v = ev.value(e.s, ev.at)
	}
	b, err := encode(v)
	if err != nil {
		e.s.log.Errorf("Event %s: %v", ev.subject, err)
		return
	}
	if ev.also != "" {
		out.send(in, true, []byte(ev.also), nil, b)
	}
	out.send(in, true, []byte(ev.subject), nil, b)
}

// sendIfWanted sends what value returns, which is asked only if somebody listens.
func (e *Events) sendIfWanted(out *output, what string, value func() any) {
	subj := e.serverSubject(what)
	if !e.wanted(e.s.system, subj) {
		return
	}
	b, err := encode(value())
	if err != nil {
		e.s.log.Errorf("Event %s: %v", subj, err)
		return
	}
	out.send(e.s.system, true, []byte(subj), nil, b)
}

// accountFigures holds the figures of accounts for a group of events: to collect them is to look at all connections,
// which is done once for each account.
type accountFigures struct {
	s    *Service
	seen map[*account.Account]*monitor.AccountStat
}

// of returns the figures of a with conns connections; nil if there is no such account any more.
func (f *accountFigures) of(a *account.Account, conns int) *monitor.AccountStat {
	st := f.seen[a]
	if st == nil {
		found, ok := f.s.stat(a.Name())
		if !ok {
			return nil
		}
		if f.seen == nil {
			f.seen = make(map[*account.Account]*monitor.AccountStat)
		}
		st = &found
		f.seen[a] = st
	}
	then := *st
	then.TotalConns += conns - then.Conns
	then.Conns = conns
	return &then
}

// sendBeats sends the number of connections of accounts that nothing was told of for a while.
func (e *Events) sendBeats(out *output, now time.Time) {
	figures := accountFigures{s: e.s}
	for _, a := range e.beats.due(now) {
		subj, old := accountSubject(a.Name(), "SERVER.CONNS"), oldConnsSubject(a.Name())
		if e.wanted(e.s.system, subj) || e.wanted(e.s.system, old) {
			n, _ := a.Conns()
			e.send(out, &event{subject: subj, also: old, kind: eventConns, account: a, conns: n}, &figures)
		}
	}
}
