package stream

import (
	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// Outcome is what became of a published message.
type Outcome struct {
	Subject  string       // under which it is stored, or would be if it were not refused
	Unwanted bool         // nobody is interested: only its sequence is used
	Err      *jsapi.Error // why it was refused; nil if it was not
}

// follower is told the outcome of one message of a batch.
type follower struct {
	message int
	tell    func(Outcome)
}

// Follow has tell told what becomes of the message that was added last, when that is safe. Tell must not block.
func (b *PubBatch) Follow(tell func(Outcome)) {
	b.followers = append(b.followers, follower{len(b.ends) - 1, tell})
}

// tellFollowers tells the outcomes of a batch. refused is why all of it was refused, nil if it was not.
func (b *PubBatch) tellFollowers(refused *jsapi.Error) {
	for _, f := range b.followers {
		o := Outcome{Err: refused}
		if o.Err == nil && len(b.results) > 0 {
			r := &b.results[f.message]
			o.Err, o.Unwanted = r.err, len(r.record) > 0 && r.record[0]&attrUnwanted != 0
		}
		var rec segment.Record
		if err := b.decode(f.message, &rec); err == nil {
			o.Subject = string(rec.Subject)
		}
		f.tell(o)
	}
	b.followers = nil
}

// Would says under which subject a message published now would be stored, and whether anybody is interested in it.
func (p *Partition) Would(subj []byte) (to string, wanted bool) {
	to, wanted = string(subj), true
	if t := p.transform.Load(); t != nil {
		if b, ok := t.Append(nil, to); ok {
			to = string(b)
		}
	}
	_ = p.do(func() {
		wanted = p.cfg.Retention != jsapi.InterestRetention || p.watch.wants([]byte(to), p.next)
	}) // closed: it does not matter any more
	return to, wanted
}
