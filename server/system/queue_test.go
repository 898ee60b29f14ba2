package system

import (
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

func TestQueueRefusesBeyondItsBounds(t *testing.T) {
	v := &receiver{}
	q := newQueue(make(chan struct{}, 1))
	for range queueItemsMax + 3 {
		q.put(&request{receiver: v})
	}
	if n, r := q.info("").Pending, q.refused.Load(); n != queueItemsMax || r != 3 {
		t.Errorf("%d pending and %d refused", n, r)
	}
	q = newQueue(make(chan struct{}, 1))
	big := &request{receiver: v, body: make([]byte, queueBytesMax/2)}
	for range 2 {
		q.put(big)
	}
	q.put(&request{receiver: v})
	if n, r := q.info("").Pending, q.refused.Load(); n != 2 || r != 1 {
		t.Errorf("%d pending and %d refused", n, r)
	}
	q.take()
	q.put(big)
	if n, r := q.info("").Pending, q.refused.Load(); n != 2 || r != 1 {
		t.Errorf("after one was taken: %d pending and %d refused", n, r)
	}
}

func TestQueueAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(make(chan struct{}, 1))
		var model []*request
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if puts := rapid.IntRange(0, 400).Draw(t, "puts"); puts > 0 {
				for range puts {
					r := &request{receiver: &receiver{}}
					q.put(r)
					if len(model) < queueItemsMax {
						model = append(model, r)
					}
				}
			}
			for range rapid.IntRange(0, 400).Draw(t, "takes") {
				r := q.take()
				if len(model) == 0 {
					if r != nil {
						t.Fatal("more than was put")
					}
					break
				}
				if r != model[0] {
					t.Fatal("not the oldest")
				}
				model = model[1:]
			}
			if n := q.info("").Pending; n != len(model) {
				t.Fatalf("%d pending, want %d", n, len(model))
			}
			if len(q.mu.items) > 2*queueItemsMax {
				t.Fatalf("holds %d for %d", len(q.mu.items), len(model))
			}
		}
	})
}

// A request of the system account is answered before those of other accounts that came earlier.
func TestSystemAccountGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		w.hold = make(chan struct{})
		answers := make(chan string, 40)
		for _, name := range []string{"SYS", "A"} {
			w.account(name).Index().SubscribeReceiver("_INBOX.>", "", notes{name, answers})
		}
		w.publish(nil, "SYS", "$SYS.REQ.SERVER."+serverID+".RELOAD", "_INBOX.0", "", "")
		synctest.Wait() // the answering goroutine is busy now
		for i := range 20 {
			w.publish(nil, "A", "$SYS.REQ.SERVER.PING.CONNZ", fmt.Sprintf("_INBOX.%d", i), "", "")
		}
		w.publish(nil, "SYS", "$SYS.REQ.SERVER.PING", "_INBOX.x", "", "")
		if q := w.s.Queues(); q[0].InProgress != 1 || q[0].Pending != 1 || q[1].Pending != 20 {
			t.Errorf("queues: %v", q)
		}
		close(w.hold)
		synctest.Wait()
		if len(answers) != 22 {
			t.Fatalf("%d answers, want 22", len(answers))
		}
		if first, second := <-answers, <-answers; first != "SYS" || second != "SYS" {
			t.Errorf("the first two answers were for %s and %s", first, second)
		}
	})
}

func TestTooManyRequestsGoUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		w.hold = make(chan struct{})
		w.publish(nil, "SYS", "$SYS.REQ.SERVER."+serverID+".RELOAD", "_INBOX.0", "", "")
		synctest.Wait()
		for range queueItemsMax + 5 {
			w.publish(nil, "A", "$SYS.REQ.SERVER.PING.CONNZ", "_INBOX.1", "", "")
		}
		if n, _ := w.s.Refused(); n != 5 {
			t.Errorf("%d refused, want 5", n)
		}
		answers := w.listen("A", "_INBOX.>")
		close(w.hold)
		synctest.Wait()
		if n := len(answers.take()); n != queueItemsMax {
			t.Errorf("%d answers, want %d", n, queueItemsMax)
		}
	})
}
