package stream

import (
	"godwit/protocol/jsapi"
	"godwit/stream/segment"
	"godwit/stream/timetable"
)

// judgeSchedule checks the headers of a scheduled message and adds the rollup that keeps one per subject.
func (p *Partition) judgeSchedule(c *check, rec *segment.Record) *jsapi.Error {
	if !p.cfg.AllowMsgSchedules {
		return jsapi.Err(jsapi.ErrMessageSchedulesDisabled)
	}
	h := rec.Header
	pattern, zone := string(headerValue(h, hdrSchedule)), string(headerValue(h, hdrScheduleZone))
	table, err := timetable.Parse(pattern, zone)
	if zone == "" && hasHeader(h, hdrScheduleZone) && err == nil { // given, and empty
		err = timetable.ErrZone
	}
	switch {
	case err == timetable.ErrZone:
		return jsapi.Err(jsapi.ErrMessageSchedulesTimeZoneInvalid)
	case err != nil, table.Repeats() && table.First(p.stamp) == timetable.Never:
		return jsapi.Err(jsapi.ErrMessageSchedulesPatternInvalid)
	}
	ttl := headerValue(h, hdrScheduleTTL)
	if ttl != nil && parseTTL(string(ttl)) == 0 {
		return jsapi.Err(jsapi.ErrMessageSchedulesTTLInvalid)
	}
	if v := headerValue(h, hdrScheduleRollup); v != nil && string(v) != rollupSubject {
		return jsapi.Err(jsapi.ErrMessageSchedulesRollupInvalid)
	}
	if ttl != nil && !p.cfg.AllowMsgTTL {
		return jsapi.Err(jsapi.ErrMessageTTLDisabled)
	}
	target := headerValue(h, hdrScheduleTarget)
	if !p.literal(target) || string(target) == string(rec.Subject) {
		return jsapi.Err(jsapi.ErrMessageSchedulesTargetInvalid)
	}
	if from := headerValue(h, hdrScheduleSource); from != nil &&
		(!p.literal(from) || string(from) == string(rec.Subject) || string(from) == string(target)) {
		return jsapi.Err(jsapi.ErrMessageSchedulesSourceInvalid)
	}
	switch v := headerValue(h, hdrRollup); string(v) {
	case rollupSubject:
	case "":
		rec.Header = setHeader(nil, h, hdrRollup, rollupSubject)
		rec.Attrs |= attrRollupSub
		c.changed = true
	default:
		return jsapi.Err(jsapi.ErrMessageSchedulesRollupInvalid)
	}
	return nil
}

// judgeScheduler checks a message that cancels a schedule: clients have no other use for these headers.
func (p *Partition) judgeScheduler(rec *segment.Record) *jsapi.Error {
	by := headerValue(rec.Header, hdrScheduler)
	ok := string(headerValue(rec.Header, hdrScheduleNext)) == nextPurge && len(by) > 0 && string(by) != string(rec.Subject)
	if ok && !p.cfg.AllowMsgSchedules {
		return jsapi.Err(jsapi.ErrMessageSchedulesDisabled)
	}
	if ok && p.subjects.find(p.subjects.hash(by), by) >= 0 {
		ok = p.timers.bySubject[string(by)] != nil
	}
	if !ok {
		return jsapi.Err(jsapi.ErrMessageSchedulesSchedulerInvalid)
	}
	return nil
}
