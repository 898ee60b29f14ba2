package tlsconf

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(2)
		ask := func(want ...bool) {
			t.Helper()
			for i, w := range want {
				if got := l.Allow(); got != w {
					t.Fatalf("%d: %v", i, got)
				}
			}
		}
		ask(true, true, false, false)
		time.Sleep(time.Second - 1)
		ask(false)
		if n := l.TakeRejected(); n != 3 {
			t.Errorf("%d rejected", n)
		}
		time.Sleep(time.Nanosecond)
		ask(true)
		time.Sleep(999 * time.Millisecond) // the second began with its first handshake
		ask(true, false)
		time.Sleep(time.Millisecond)
		ask(true, true, false)
		if n := l.TakeRejected(); n != 2 {
			t.Errorf("%d rejected", n)
		}
		if n := l.TakeRejected(); n != 0 {
			t.Errorf("%d rejected twice", n)
		}
	})
}

func TestNoLimit(t *testing.T) {
	for _, l := range []*Limiter{nil, NewLimiter(0), NewLimiter(-1)} {
		for range 1000 {
			if !l.Allow() {
				t.Fatal("refused")
			}
		}
		if l.TakeRejected() != 0 {
			t.Error("something was refused")
		}
	}
}

func TestLimiterConcurrently(t *testing.T) {
	l := NewLimiter(100)
	l.end = time.Now().Add(time.Hour) // one long second
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if l.Allow() {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 100 || l.TakeRejected() != 300 {
		t.Errorf("%d passed", passed.Load())
	}
}
