package auth

import (
	"time"

	"godwit/server/options"
)

// Info is how permissions are shown to users and in events. The JSON is the protocol's: both directions are
// always there, and an object without keys means no restriction.
type Info struct {
	Publish   SubjectInfo   `json:"publish"`
	Subscribe SubjectInfo   `json:"subscribe"`
	Responses *ResponseInfo `json:"responses,omitempty"`
}

// SubjectInfo shows the lists of one direction.
type SubjectInfo struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// ResponseInfo shows the right to reply.
type ResponseInfo struct {
	Max int           `json:"max"`
	TTL time.Duration `json:"ttl"` // nanoseconds
}

// Info returns the public form, or nil for the nil Permissions. Its lists are shared.
func (p *Permissions) Info() *Info {
	if p == nil {
		return nil
	}
	i := &Info{Publish: subjectInfo(p.source.Publish), Subscribe: subjectInfo(p.source.Subscribe)}
	if r := p.responses; r != nil {
		i.Responses = &ResponseInfo{Max: r.Max, TTL: r.TTL}
	}
	return i
}

func subjectInfo(p *options.SubjectPermission) SubjectInfo {
	if p == nil {
		return SubjectInfo{}
	}
	return SubjectInfo{Allow: p.Allow, Deny: p.Deny}
}
