package auth

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"godwit/protocol/subject"
	"godwit/server/options"
)

const (
	defaultResponses   = 1
	defaultResponseTTL = 2 * time.Minute
)

// Permissions are a user's, compiled. They never change, so connections share them, and asking neither
// locks nor allocates. The nil Permissions permit everything.
//
// Deny beats allow. A user with any restriction on publishing cannot publish to a malformed subject, as
// no list could say anything about it.
type Permissions struct {
	source    *options.Permissions
	publish   rules
	subscribe rules
	responses *Responses
}

// rules are what one direction may touch.
type rules struct {
	restricted bool // the allow list counts; without, everything is allowed
	allow      subjectList
	deny       subjectList
}

// subjectList is an allow or deny list. Only lists for subscribing have entries with queues.
type subjectList struct {
	plain  *subject.Set
	queued []queueEntry
}

type queueEntry struct{ subject, queue string }

// Responses is the right to publish to the reply subjects of received messages.
type Responses struct {
	Max int           // replies per message; negative means unlimited
	TTL time.Duration // how long after the message; negative means for ever
}

// Compile compiles configured permissions, which must not change afterwards; nil gives nil.
func Compile(p *options.Permissions) (*Permissions, error) {
	if p == nil {
		return nil, nil
	}
	c := &Permissions{source: p}
	var err error
	if c.publish, err = compileRules(p.Publish, false); err != nil {
		return nil, err
	}
	if c.subscribe, err = compileRules(p.Subscribe, true); err != nil {
		return nil, err
	}
	if r := p.Response; r != nil {
		c.publish.restricted = true // replies are all that may be published, unless there is an allow list
		c.responses = &Responses{Max: r.MaxMsgs, TTL: r.Expires}
		if r.MaxMsgs == 0 {
			c.responses.Max = defaultResponses
		}
		if r.Expires == 0 {
			c.responses.TTL = defaultResponseTTL
		}
	}
	return c, nil
}

// DenyPublish returns permissions that forbid publishing on one more subject; p may be nil.
func (p *Permissions) DenyPublish(subj string) (*Permissions, error) {
	next := options.Permissions{}
	if p != nil {
		next = *p.source
	}
	pub := options.SubjectPermission{}
	if next.Publish != nil {
		pub = *next.Publish
	}
	pub.Deny = append(slices.Clone(pub.Deny), subj)
	next.Publish = &pub
	return Compile(&next)
}

func compileRules(p *options.SubjectPermission, queues bool) (r rules, err error) {
	if p == nil {
		return rules{}, nil
	}
	r.restricted = len(p.Allow) > 0
	if r.allow, err = compileList(p.Allow, queues); err != nil {
		return rules{}, err
	}
	if r.deny, err = compileList(p.Deny, queues); err != nil {
		return rules{}, err
	}
	return r, nil
}

func compileList(entries []string, queues bool) (l subjectList, err error) {
	var plain []string
	for _, e := range entries {
		pattern, queue := e, ""
		if fields := strings.FieldsFunc(e, isBlank); queues && len(fields) == 2 {
			pattern, queue = fields[0], fields[1]
		}
		if !subject.Valid(pattern) {
			return subjectList{}, fmt.Errorf("subject %q is not a valid subject", e)
		}
		if queue == "" {
			plain = append(plain, pattern)
			continue
		}
		if !subject.Valid(queue) {
			return subjectList{}, fmt.Errorf("queue %q is not a valid queue", queue)
		}
		l.queued = append(l.queued, queueEntry{pattern, queue})
	}
	l.plain, err = subject.NewSet(plain...)
	return l, err
}

// isBlank reports whether r separates a subject from a queue. Blanks beyond ASCII are part of names: taken for
// separators they would turn the deny of a subject into that of a queue.
func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// CanPublish reports whether a message may be published to the subject, which is lent. It does not know of
// rights to reply: where it says no and there are Responses, a ReplyTracker may still permit it.
func (p *Permissions) CanPublish(subj []byte) bool {
	if p == nil {
		return true
	}
	r := &p.publish
	if r.restricted && !r.allow.plain.Match(subj) {
		return false
	}
	if r.deny.plain.Len() == 0 {
		return true
	}
	return !subject.HasEmptyToken(subj) && !r.deny.plain.Match(subj)
}

// CanSubscribe reports whether a subscription may be made; queue is empty for a plain one. The subject is
// permitted if one entry of the allow list covers all of it and no entry of the deny list does. A deny
// that covers a part of it does not hinder the subscription: see DeniesDelivery.
//
// Of the allow list, entries for queues decide about a queue subscription as soon as one of them covers its
// subject; plain entries only if none does. Any entry of the deny list can forbid it. A malformed subject is
// never permitted.
func (p *Permissions) CanSubscribe(subj, queue string) bool {
	if p == nil {
		return true
	}
	r := &p.subscribe
	if !subject.WellFormed(subj) || r.restricted && !r.allow.allows(subj, queue) {
		return false
	}
	return !r.deny.denies(subj, queue)
}

func (l *subjectList) allows(subj, queue string) bool {
	if queue != "" {
		decided := false
		for _, e := range l.queued {
			if subject.Subset(subj, e.subject) {
				if e.queue == queue || subject.Subset(queue, e.queue) {
					return true
				}
				decided = true
			}
		}
		if decided {
			return false
		}
	}
	return l.plain.Covers(subj)
}

func (l *subjectList) denies(subj, queue string) bool {
	if l.plain.Covers(subj) {
		return true
	}
	for _, e := range l.queued {
		if queue != "" && e.hasQueue(queue) && subject.Subset(subj, e.subject) {
			return true
		}
	}
	return false
}

// hasQueue reports whether an entry of a deny list is about the queue name. Wildcards in the entry match tokens
// of the name; a name with empty tokens, which SUB does not forbid, counts as matched by any of them.
func (e *queueEntry) hasQueue(name string) bool {
	return e.queue == name || subject.Match(e.queue, name) || subject.HasWildcard(e.queue) && subject.HasEmptyToken(name)
}

// FiltersDelivery reports whether a permitted subscription can get messages that are denied, so that each
// has to be asked about. It spares the question for all others.
func (p *Permissions) FiltersDelivery(subj, queue string) bool {
	if p == nil {
		return false
	}
	if p.subscribe.deny.plain.Overlaps(subj) {
		return true
	}
	for _, e := range p.subscribe.deny.queued {
		if queue != "" && e.hasQueue(queue) && subject.Overlap(subj, e.subject) {
			return true
		}
	}
	return false
}

// DeniesDelivery reports whether a message on the subject, which is lent, must not be delivered although a
// subscription matches it. Such messages are dropped without a word.
func (p *Permissions) DeniesDelivery(subj []byte) bool {
	return p != nil && p.subscribe.deny.plain.Match(subj)
}

// DeniesQueueDelivery is DeniesDelivery for a subscription with a queue.
func (p *Permissions) DeniesQueueDelivery(subj []byte, queue string) bool {
	if p == nil {
		return false
	}
	if p.subscribe.deny.plain.Match(subj) {
		return true
	}
	for _, e := range p.subscribe.deny.queued {
		if e.hasQueue(queue) && subject.Match(e.subject, subj) {
			return true
		}
	}
	return false
}

// Responses returns the right to reply, or nil.
func (p *Permissions) Responses() *Responses {
	if p == nil {
		return nil
	}
	return p.responses
}
