package stream

import (
	"fmt"
	"reflect"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
)

// checkMirror validates a mirror's configuration.
func checkMirror(cfg *jsapi.StreamConfig) *jsapi.Error {
	m := cfg.Mirror
	if m == nil {
		return nil
	}
	for _, c := range []struct {
		wrong bool
		code  jsapi.Code
	}{
		{cfg.FirstSeq > 0, jsapi.ErrMirrorWithFirstSeq},
		{len(cfg.Subjects) > 0, jsapi.ErrMirrorWithSubjects},
		{len(cfg.Sources) > 0, jsapi.ErrMirrorWithSources},
		{cfg.AllowMsgCounter, jsapi.ErrMirrorWithCounters},
		{cfg.AllowAtomicPublish, jsapi.ErrMirrorWithAtomicPublish},
		{cfg.AllowBatchPublish, jsapi.ErrMirrorWithBatchPublish},
		{cfg.AllowMsgSchedules, jsapi.ErrMirrorWithMsgSchedules},
		{badOriginConsumer(m), jsapi.ErrMirrorDurableConsumerCfgInvalid},
		{m.FilterSubject != "" && len(m.SubjectTransforms) > 0, jsapi.ErrMirrorMultipleFiltersNotAllowed},
	} {
		if c.wrong {
			return jsapi.Err(c.code)
		}
	}
	if cfg.SubjectDeleteMarkerTTL > 0 {
		return invalid("subject delete markers forbidden on mirrors")
	}
	if err := checkOriginTransforms(m, jsapi.ErrMirrorInvalidSubjectFilter, jsapi.ErrMirrorInvalidTransformDestination,
		jsapi.ErrMirrorOverlappingSubjectFilters); err != nil {
		return err
	}
	if m.External == nil && !jsapi.ValidName(m.Name) {
		return jsapi.Err(jsapi.ErrMirrorInvalidStreamName)
	}
	return checkExternal(m.External)
}

// checkSources validates the origins that a stream takes messages from.
func checkSources(cfg *jsapi.StreamConfig) *jsapi.Error {
	if len(cfg.Sources) > 0 && cfg.AllowMsgSchedules {
		return jsapi.Err(jsapi.ErrSourceWithMsgSchedules)
	}
	consumers := map[string]bool{}
	for i, s := range cfg.Sources {
		if s == nil || s.External == nil && !jsapi.ValidName(s.Name) {
			return jsapi.Err(jsapi.ErrSourceInvalidStreamName)
		}
		for _, other := range cfg.Sources[:i] {
			if sameOrigin(s, other) {
				return jsapi.Err(jsapi.ErrSourceDuplicateDetected)
			}
		}
		if s.FilterSubject != "" && len(s.SubjectTransforms) > 0 {
			return jsapi.Err(jsapi.ErrSourceMultipleFiltersNotAllowed)
		}
		if err := checkOriginTransforms(s, jsapi.ErrSourceInvalidSubjectFilter, jsapi.ErrSourceInvalidTransformDestination,
			jsapi.ErrSourceOverlappingSubjectFilters); err != nil {
			return err
		}
		if badOriginConsumer(s) {
			return jsapi.Err(jsapi.ErrSourceDurableConsumerCfgInvalid)
		}
		if c := s.Consumer; c != nil {
			if key := s.Name + " " + c.Name; consumers[key] {
				return jsapi.Err(jsapi.ErrSourceDurableConsumerDuplicateDetected)
			} else {
				consumers[key] = true
			}
		}
		if err := checkExternal(s.External); err != nil {
			return err
		}
	}
	return nil
}

func sameOrigin(a, b *jsapi.StreamSource) bool {
	return a.Name == b.Name && a.FilterSubject == b.FilterSubject &&
		reflect.DeepEqual(a.SubjectTransforms, b.SubjectTransforms) && reflect.DeepEqual(a.External, b.External)
}

// badOriginConsumer says whether the origin's own consumer is named wrongly or combined with what it decides itself.
func badOriginConsumer(s *jsapi.StreamSource) bool {
	c := s.Consumer
	return c != nil && (!jsapi.ValidName(c.Name) || !subject.ValidName(c.DeliverSubject) ||
		s.OptStartSeq > 0 || s.OptStartTime != nil || s.FilterSubject != "")
}

func checkOriginTransforms(s *jsapi.StreamSource, badSource, badDestination, overlap jsapi.Code) *jsapi.Error {
	for i, t := range s.SubjectTransforms {
		if t.Source != "" && !subject.Valid(t.Source) {
			return jsapi.Err(badSource, "err", "invalid subject "+t.Source)
		}
		if t.Destination != "" {
			if _, err := subject.NewTransform(orAll(t.Source), t.Destination); err != nil {
				return jsapi.Err(badDestination, "err", err.Error())
			}
		}
		for _, other := range s.SubjectTransforms[:i] {
			if subject.Overlap(orAll(t.Source), orAll(other.Source)) {
				return jsapi.Err(overlap)
			}
		}
	}
	return nil
}

func orAll(filter string) string {
	if filter == "" {
		return ">"
	}
	return filter
}

func checkExternal(e *jsapi.ExternalStream) *jsapi.Error {
	if e == nil {
		return nil
	}
	if e.DeliverPrefix != "" && !subject.ValidName(e.DeliverPrefix) {
		return jsapi.Err(jsapi.ErrStreamInvalidExternalDeliverySubj, "prefix", e.DeliverPrefix)
	}
	if !subject.ValidName(e.APIPrefix) {
		return jsapi.InvalidConfig(fmt.Sprintf("stream external api prefix %q must be a valid subject without wildcards", e.APIPrefix))
	}
	if subject.Overlap("$JS.API.>", e.APIPrefix+".>") {
		return jsapi.Err(jsapi.ErrStreamExternalApiOverlap, "prefix", e.APIPrefix, "subject", "$JS.API.>")
	}
	return nil
}

// checkTransforms validates what becomes of subjects, and the placement, which comes last.
func checkTransforms(cfg *jsapi.StreamConfig) *jsapi.Error {
	if t := cfg.SubjectTransform; t != nil {
		if t.Source != "" && !subject.Valid(t.Source) {
			return jsapi.Err(jsapi.ErrStreamTransformInvalidSource, "err", "invalid subject "+t.Source)
		}
		if _, err := subject.NewTransform(orAll(t.Source), t.Destination); err != nil {
			return jsapi.Err(jsapi.ErrStreamTransformInvalidDestination, "err", err.Error())
		}
	}
	if cfg.Republish != nil {
		r := *cfg.Republish
		cfg.Republish = &r
		r.Source = orAll(r.Source)
		if t := cfg.SubjectTransform; t != nil && r.Source == ">" && r.Destination == ">" && len(cfg.Subjects) == 1 && cfg.Subjects[0] == t.Source {
			r.Source, r.Destination = t.Destination, t.Destination // what is stored, as it is
		}
		src := r.Source
		for _, s := range cfg.Subjects {
			if subject.Valid(r.Destination) && subject.Overlap(r.Destination, s) {
				return invalid("stream configuration for republish destination forms a cycle")
			}
		}
		if _, err := subject.NewTransform(src, r.Destination); err != nil {
			return invalid("stream configuration for republish with transform from '%s' to '%s' not valid", src, r.Destination)
		}
	}
	if p := cfg.Placement; p != nil && p.Preferred != "" {
		return invalid("preferred server not permitted in placement")
	}
	return nil
}
