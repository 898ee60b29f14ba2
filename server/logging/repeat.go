package logging

import (
	"fmt"
	"sync"
	"time"
)

// repeatsMax bounds the texts remembered. When there are more, the oldest half is forgotten, and may be
// logged again too early.
const repeatsMax = 1024

// RateLimitWarnf is Warnf for what may happen again and again: the same text is logged once every RepeatEvery.
// The next time it says how often it was left out.
func (l *Logger) RateLimitWarnf(format string, args ...any) {
	l.rateLimitf(Warn, "", format, args)
}

// RateLimitErrorf is Errorf with the rule of RateLimitWarnf.
func (l *Logger) RateLimitErrorf(format string, args ...any) {
	l.rateLimitf(Error, "", format, args)
}

// RateLimitDebugf is Debugf with the rule of RateLimitWarnf.
func (l *Logger) RateLimitDebugf(format string, args ...any) {
	if l.debug.Load() {
		l.rateLimitf(Debug, "", format, args)
	}
}

// RateLimitFormatWarnf is RateLimitWarnf where all texts made from one format count as the same.
func (l *Logger) RateLimitFormatWarnf(format string, args ...any) {
	l.rateLimitf(Warn, format, format, args)
}

// rateLimitf logs unless the key was logged lately; without a key the text is one.
func (l *Logger) rateLimitf(level Level, key, format string, args []any) {
	var text string
	if key == "" {
		text = fmt.Sprintf(format, args...)
		key = text
	}
	left, ok := l.repeats.allow(key, l.now())
	if !ok {
		return
	}
	if text == "" {
		text = fmt.Sprintf(format, args...)
	}
	if left > 0 {
		text = fmt.Sprintf("%s (%d more like this left out)", text, left)
	}
	l.logf(level, "%s", []any{text})
}

// repeats remembers what was logged when.
type repeats struct {
	every time.Duration
	// mu is a leaf.
	mu struct {
		sync.Mutex
		seen  map[string]repeat
		order []string // keys of seen, the first logged first
	}
}

type repeat struct {
	at   time.Time
	left int // times left out since
}

func newRepeats(every time.Duration) *repeats {
	r := &repeats{every: every}
	r.mu.seen = make(map[string]repeat)
	return r
}

// allow says whether key may be logged now, and how often it was left out since the last time it was.
func (r *repeats) allow(key string, now time.Time) (left int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.mu.seen[key]
	if known && now.Sub(last.at) < r.every {
		last.left++
		r.mu.seen[key] = last
		return 0, false
	}
	if !known {
		if len(r.mu.order) >= repeatsMax {
			for _, k := range r.mu.order[:repeatsMax/2] {
				delete(r.mu.seen, k)
			}
			r.mu.order = append(r.mu.order[:0], r.mu.order[repeatsMax/2:]...)
		}
		r.mu.order = append(r.mu.order, key)
	}
	r.mu.seen[key] = repeat{at: now}
	return last.left, true
}
