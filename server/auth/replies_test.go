package auth

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"godwit/server/options"
)

func responses(tb testing.TB, r options.ResponsePermission) *Responses {
	tb.Helper()
	p, err := Compile(&options.Permissions{Response: &r})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Responses()
}

func TestRepliesAreCounted(t *testing.T) {
	for _, tt := range []struct{ configured, want int }{{0, 1}, {1, 1}, {3, 3}} {
		tr := NewReplyTracker(responses(t, options.ResponsePermission{MaxMsgs: tt.configured}))
		if tr.Allow([]byte("r")) {
			t.Fatal("allowed before any message")
		}
		tr.Track([]byte("r"))
		for i := range tt.want {
			if !tr.Allow([]byte("r")) {
				t.Fatalf("max %d: reply %d refused", tt.configured, i+1)
			}
		}
		if tr.Allow([]byte("r")) {
			t.Fatalf("max %d: one too many", tt.configured)
		}
		if tr.Len() != 0 {
			t.Fatal("a used up reply is still remembered")
		}
	}
}

func TestTrackingAgainStartsAnew(t *testing.T) {
	tr := NewReplyTracker(&Responses{Max: 2, TTL: time.Minute})
	r := []byte("r")
	tr.Track(r)
	tr.Allow(r)
	tr.Track(r)
	r[0] = 'x' // it was lent
	r = []byte("r")
	if tr.Len() != 1 || !tr.Allow(r) || !tr.Allow(r) || tr.Allow(r) {
		t.Fatal("not two replies")
	}
}

func TestRepliesAreNames(t *testing.T) {
	tr := NewReplyTracker(&Responses{Max: -1, TTL: -1})
	tr.Track([]byte("a.*"))
	tr.Track([]byte(">"))
	for s, want := range map[string]bool{"a.*": true, ">": true, "a.b": false, "": false, "a": false} {
		if got := tr.Allow([]byte(s)); got != want {
			t.Errorf("Allow(%q) = %v", s, got)
		}
	}
}

func TestRepliesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := []byte("r")
		tr := NewReplyTracker(responses(t, options.ResponsePermission{MaxMsgs: -1}))
		tr.Track(r)
		time.Sleep(2 * time.Minute)
		if !tr.Allow(r) {
			t.Fatal("refused at the end of its time")
		}
		time.Sleep(time.Nanosecond)
		if tr.Allow(r) || tr.Len() != 0 {
			t.Fatal("allowed after its time")
		}
	})
}

func TestRepliesForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := NewReplyTracker(responses(t, options.ResponsePermission{MaxMsgs: -1, Expires: -1}))
		tr.Track([]byte("r"))
		time.Sleep(1000 * time.Hour)
		for range 1000 {
			if !tr.Allow([]byte("r")) {
				t.Fatal("refused")
			}
		}
	})
}

func TestExpiredRepliesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := NewReplyTracker(&Responses{Max: 1, TTL: time.Second})
		for i := range 100 {
			tr.Track(fmt.Append(nil, "old", i))
		}
		time.Sleep(2 * time.Second)
		for i := range 100 {
			tr.Track(fmt.Append(nil, "new", i))
		}
		if tr.Len() != 100 {
			t.Fatalf("%d remembered", tr.Len())
		}
	})
}

func TestOldestIsForgottenAtTheBound(t *testing.T) {
	tr := newReplyTracker(&Responses{Max: 1, TTL: time.Hour}, 3)
	for _, s := range []string{"a", "b", "c", "a", "d"} { // the second a makes b the oldest
		tr.Track([]byte(s))
	}
	if tr.Len() != 3 {
		t.Fatalf("%d remembered", tr.Len())
	}
	for s, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := tr.Allow([]byte(s)); got != want {
			t.Errorf("Allow(%q) = %v", s, got)
		}
	}
}

func TestTrackerConcurrently(t *testing.T) {
	tr := newReplyTracker(&Responses{Max: 1, TTL: time.Hour}, 1000)
	const each = 200
	var wg sync.WaitGroup
	var allowed [4]int
	for g := range 4 {
		wg.Go(func() {
			for i := range each {
				s := fmt.Appendf(nil, "%d.%d", g, i)
				tr.Track(s)
				if tr.Allow(s) {
					allowed[g]++
				}
			}
		})
	}
	wg.Wait()
	if allowed != [4]int{each, each, each, each} || tr.Len() != 0 {
		t.Errorf("allowed %v, %d left", allowed, tr.Len())
	}
}
