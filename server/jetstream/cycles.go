package jetstream

import (
	"slices"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
)

// cycleSteps bounds the ways from stream to stream that are looked at; who builds more is refused.
const cycleSteps = 10_000

// checkOrigins says whether a stream of the configuration, which was checked by itself, can take messages from those streams
// of the account that it names. Others cannot be seen.
func (a *Account) checkOrigins(cfg *jsapi.StreamConfig) *jsapi.Error {
	if m := cfg.Mirror; m != nil && a.sendsLarger(m, cfg) {
		return jsapi.Err(jsapi.ErrMirrorMaxMessageSizeTooBig)
	}
	for _, o := range cfg.Sources {
		if a.sendsLarger(o, cfg) {
			return jsapi.Err(jsapi.ErrSourceMaxMessageSizeTooBig)
		}
	}
	origins := originsOf(cfg)
	if len(origins) == 0 {
		return nil
	}
	for _, o := range origins {
		if s := a.Stream(o.Name); s != nil && o.External == nil && s.Config().Partitions > 1 {
			return jsapi.InvalidConfig("stream " + o.Name + " has several partitions and can not be copied")
		}
	}
	f := cycleFinder{account: a, cfg: cfg}
	if f.reaches(cfg.Name, cfg.Name) || f.twice() {
		return jsapi.InvalidConfig("detected cycle")
	}
	return nil
}

// twice says whether a stream takes messages from an origin, and the same ones from another that is listed behind it. The
// protocol refuses that order only, and allows streams that come together in a third one.
func (f *cycleFinder) twice() bool {
	for i, o := range f.cfg.Sources {
		for _, earlier := range f.cfg.Sources[:i] {
			if o.External != nil || earlier.External != nil || o.Name == earlier.Name {
				continue
			}
			f.path = []*jsapi.StreamSource{earlier, o}
			if f.reaches(o.Name, earlier.Name) {
				return true
			}
		}
	}
	return false
}

// sendsLarger says whether an origin is known to accept larger messages than cfg.
func (a *Account) sendsLarger(o *jsapi.StreamSource, cfg *jsapi.StreamConfig) bool {
	if o.External != nil || cfg.MaxMsgSize < 0 {
		return false
	}
	s := a.Stream(o.Name)
	return s != nil && s.Config().MaxMsgSize > cfg.MaxMsgSize
}

// originsOf returns what a stream takes messages from.
func originsOf(cfg *jsapi.StreamConfig) []*jsapi.StreamSource {
	if cfg.Mirror != nil {
		return []*jsapi.StreamSource{cfg.Mirror}
	}
	return cfg.Sources
}

// cycleFinder looks for ways on which a stream gets messages of another one, or of itself.
type cycleFinder struct {
	account *Account
	cfg     *jsapi.StreamConfig // of the stream, as it is to be
	steps   int
	target  string                // the other stream
	takers  map[string]bool       // see findTakers
	path    []*jsapi.StreamSource // what has been followed
}

// config returns a stream's configuration, nil if it cannot be seen.
func (f *cycleFinder) config(name string) *jsapi.StreamConfig {
	if name == f.cfg.Name {
		return f.cfg
	}
	if s := f.account.Stream(name); s != nil {
		return s.Config()
	}
	return nil
}

// reaches says whether messages of target may come to a stream on a way that begins with path.
func (f *cycleFinder) reaches(name, target string) bool {
	f.target = target
	f.findTakers()
	found := f.follow(name)
	f.path = nil
	return found
}

// findTakers notes which streams take messages from target, directly or through others, whatever their subjects.
func (f *cycleFinder) findTakers() {
	takers := map[string][]string{} // by origin
	for _, s := range f.account.all() {
		for _, o := range originsOf(s.Config()) {
			if o.External == nil {
				takers[o.Name] = append(takers[o.Name], s.name)
			}
		}
	}
	f.takers = map[string]bool{f.target: true}
	for next := []string{f.target}; len(next) > 0; next = next[1:] {
		for _, name := range takers[next[0]] {
			if !f.takers[name] {
				f.takers[name] = true
				next = append(next, name)
			}
		}
	}
}

// follow looks at all ways that begin with path and go on from the named stream.
func (f *cycleFinder) follow(name string) bool {
	cfg := f.config(name)
	if cfg == nil {
		return false
	}
	for _, o := range originsOf(cfg) {
		if o.External != nil || !f.takers[o.Name] {
			continue
		}
		if f.steps++; f.steps > cycleSteps {
			return true
		}
		if o.Name != f.target && slices.ContainsFunc(f.path, func(p *jsapi.StreamSource) bool { return p.Name == o.Name }) {
			continue // a cycle without the stream: it was allowed
		}
		f.path = append(f.path, o)
		if o.Name == f.target {
			if f.passes() {
				return true
			}
		} else if f.follow(o.Name) {
			return true
		}
		f.path = f.path[:len(f.path)-1]
	}
	return false
}

// passes says whether there may be a message that none of the filters on path keeps out.
func (f *cycleFinder) passes() bool {
	var filters, seen []string
	var subjects []string
	for _, o := range f.path {
		if cfg := f.config(o.Name); len(o.SubjectTransforms) > 0 || cfg != nil && cfg.SubjectTransform != nil {
			return true // what becomes of subjects is not followed
		}
		if o.FilterSubject != "" {
			if slices.ContainsFunc(filters, func(f string) bool { return !subject.Overlap(f, o.FilterSubject) }) {
				return false
			}
			filters = append(filters, o.FilterSubject)
		}
		f.gather(o, &subjects, &seen)
	}
	if len(filters) == 0 {
		return true
	}
	return slices.ContainsFunc(subjects, func(s string) bool {
		return !slices.ContainsFunc(filters, func(filter string) bool { return !subject.Overlap(s, filter) })
	})
}

// gather adds the subjects of the messages that an origin may have.
func (f *cycleFinder) gather(o *jsapi.StreamSource, subjects, seen *[]string) {
	if o.External == nil && slices.Contains(*seen, o.Name) {
		return
	}
	cfg := f.config(o.Name)
	if o.External != nil || cfg == nil {
		*subjects = append(*subjects, ">")
		return
	}
	*seen = append(*seen, o.Name)
	*subjects = append(*subjects, cfg.Subjects...)
	for _, next := range originsOf(cfg) {
		if len(next.SubjectTransforms) > 0 {
			*subjects = append(*subjects, ">")
			continue
		}
		f.gather(next, subjects, seen)
	}
}
