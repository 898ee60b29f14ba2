package jetstream

import (
	"reflect"

	"godwit/protocol/jsapi"
	"godwit/server/router"
)

// copyOrigins makes the stream copy what its configuration says, and nothing else. It is called by whoever creates or
// changes the stream.
func (s *Stream) copyOrigins() {
	cfg := s.Config()
	var want []*origin
	if cfg.Mirror != nil {
		want = append(want, newOrigin(s, cfg.Mirror, true))
	}
	for _, src := range cfg.Sources {
		want = append(want, newOrigin(s, src, false))
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	old := s.origins
	var begun []*origin
	for i, o := range want {
		for k, have := range old {
			if have != nil && have.mirror == o.mirror && reflect.DeepEqual(have.cfg, o.cfg) {
				want[i], old[k] = have, nil
				break
			}
		}
		if want[i] == o {
			begun = append(begun, o)
		}
	}
	s.origins = want
	for _, o := range begun {
		o.start()
	}
	s.mu.Unlock()
	for _, o := range old {
		if o != nil {
			o.end(true)
		}
	}
}

// endOrigins ends copying; see origin.end.
func (s *Stream) endOrigins(forget bool) {
	s.mu.Lock()
	list := s.origins
	s.origins, s.closed = nil, true
	s.mu.Unlock()
	for _, o := range list {
		o.end(forget)
	}
}

// originInfo describes what the stream copies.
func (s *Stream) originInfo() (mirror *jsapi.StreamSourceInfo, sources []*jsapi.StreamSourceInfo) {
	s.mu.Lock()
	list := s.origins
	s.mu.Unlock()
	for _, o := range list {
		if o.mirror {
			mirror = o.info()
		} else {
			sources = append(sources, o.info())
		}
	}
	return mirror, sources
}

// mirrorDirect lets a new mirror answer the direct gets of its origin if that one, as far as it can be seen, answers them.
func (a *Account) mirrorDirect(cfg *jsapi.StreamConfig) {
	if cfg.Mirror == nil || cfg.Mirror.External != nil {
		return
	}
	if o := a.Stream(cfg.Mirror.Name); o != nil && o.Config().AllowDirect {
		cfg.MirrorDirect = true
	}
}

// directGroup is the queue group in which a stream and its mirrors answer direct gets.
const directGroup = "_sys_"

// routeDirect makes direct gets for a stream of a name come here.
func (s *Stream) routeDirect(name string) (subs []*router.Sub) {
	base := jsapi.Prefix + "DIRECT.GET." + name
	r := &directGets{s.set, len(base)}
	return []*router.Sub{s.account.index.SubscribeReceiver(base, directGroup, r), s.account.index.SubscribeReceiver(base+".>", directGroup, r)}
}
