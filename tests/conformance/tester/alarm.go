package tester

import (
	"regexp"
	"slices"
	"time"
)

// Alarm records a managed server that ended without being asked to, or whose log tells of a
// panic or a data race.
type Alarm struct {
	Time   time.Time `json:"time"`
	Server string    `json:"server"`
	Test   string    `json:"test"` // the description of the instance, which holds the test's name
	What   string    `json:"what"`
	Fault  bool      `json:"fault"` // the log shows a panic or a data race
	Log    string    `json:"log"`
}

// Alarms returns what has been recorded so far.
func (svc *Service) Alarms() []Alarm {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	return slices.Clone(svc.alarms)
}

func (svc *Service) alarm(inst *instance, s *server, a Alarm) {
	a.Time, a.Server, a.Test = time.Now(), s.name(), inst.description
	svc.mu.Lock()
	svc.alarms = append(svc.alarms, a)
	svc.mu.Unlock()
	svc.logf("ALARM server %s (%s) %s\n%s", a.Server, a.Test, a.What, a.Log)
}

// watch returns what to do when a server ends unasked.
func (svc *Service) watch(inst *instance, s *server) func(*process, string) {
	return func(p *process, state string) {
		what, log := p.trouble()
		a := Alarm{What: "ended: " + state, Fault: what != "", Log: log}
		if a.Fault {
			a.What += ", " + what
		}
		svc.alarm(inst, s, a)
	}
}

var troubleMark = regexp.MustCompile(`(?m)^(panic: |fatal error: |WARNING: DATA RACE).*`)

// trouble looks for a Go panic or data race in the log. It returns the line that names it and
// the text from there on, at most 8 KiB, or else an empty line and the end of the log.
func (p *process) trouble() (what, text string) {
	log := p.log(p.logStart)
	at := troubleMark.FindStringIndex(log)
	if at == nil {
		return "", p.logTail(30)
	}
	return log[at[0]:at[1]], log[at[0]:min(at[0]+8<<10, len(log))]
}
