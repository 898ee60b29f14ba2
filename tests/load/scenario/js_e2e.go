package scenario

import (
	"fmt"
	"runtime"
	"syscall"
	"time"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// jsE2E measures the time from the moment a message was due to be published,
// at a fixed rate, to its reception. The schedule does not wait for the
// server (open loop), and a late send counts as latency, so a stall shows up
// in every message it delayed (no coordinated omission).
func jsE2E(e *Env) ([]stats.Phase, error) {
	total := e.Msgs
	if total == 0 {
		total = uint64(float64(e.Rate) * e.Secs)
	}
	if err := e.loadStream(); err != nil {
		return nil, err
	}
	if err := e.createConsumer(wire.ConsumerConfig{Durable: "c"}); err != nil {
		return nil, err
	}
	puller, err := e.NewPuller(0, "c")
	if err != nil {
		return nil, err
	}
	pub, err := e.Dial(e.PubServer(0))
	if err != nil {
		return nil, err
	}
	const inbox = "_INBOX.e2e"
	if err := pub.Sub(inbox, "", 1); err != nil {
		return nil, err
	}
	if err := pub.Flush(); err != nil {
		return nil, err
	}

	interval := time.Second / time.Duration(e.Rate)
	start := time.Now().Add(200 * time.Millisecond) // pulls get in place before
	var lat, lag, acks stats.Hist
	check := wire.NewOrdered(1, e.Size)
	puller.Check = func(payload []byte) error {
		due := start.Add(time.Duration(check.Got) * interval)
		lat.Add(time.Since(due))
		return check.Check(payload)
	}
	m := e.Begin("main")
	err = e.Parallel(
		func() error {
			return pace(pub, wire.NewFrames(e.loadSubject(), inbox, e.Size, 0), total, start, interval, &lag)
		},
		func() error {
			for n := uint64(0); n < total; n++ {
				msg, err := pub.Next()
				if err != nil {
					return fmt.Errorf("after %d of %d acks: %w", n, total, err)
				}
				acks.Add(time.Since(start.Add(time.Duration(n) * interval)))
				if seq, err := ackSeq(msg); err != nil {
					return err
				} else if seq != n+1 {
					return fmt.Errorf("message %d stored at sequence %d", n, seq)
				}
			}
			return nil
		},
		func() error {
			for check.Got < total {
				if err := puller.Next(); err != nil {
					return fmt.Errorf("after %d of %d messages: %w", check.Got, total, err)
				}
			}
			return puller.flush()
		},
	)
	if err != nil {
		return nil, err
	}
	if err := e.awaitAcked("c", total); err != nil {
		return nil, err
	}
	phase := m.End(total, e.Size, &lat)
	phase.Values["rate"] = float64(e.Rate)
	phase.Values["ack_p50_us"] = float64(acks.Quantile(0.5)) / 1e3
	phase.Values["ack_p99_us"] = float64(acks.Quantile(0.99)) / 1e3
	phase.Values["send_lag_p99_us"] = float64(lag.Quantile(0.99)) / 1e3
	return []stats.Phase{phase}, e.CheckStream(stream, total)
}

// pace sends message n at start + n*interval; lag records how late.
func pace(c *wire.Conn, f *wire.Frames, total uint64, start time.Time, interval time.Duration, lag *stats.Hist) error {
	defer preciseSleep()()
	for sent := uint64(0); sent < total; {
		now := time.Since(start)
		due := start.Add(time.Duration(sent) * interval)
		if wait := time.Until(due); wait > 0 {
			ts := syscall.NsecToTimespec(int64(wait))
			syscall.Nanosleep(&ts, nil)
			continue
		}
		n := min(uint64(now/interval)+1-sent, uint64(f.Max), total-sent)
		for i := uint64(0); i < n; i++ {
			f.Stamp(int(i), sent+i)
			lag.Add(now - time.Duration(sent+i)*interval)
		}
		if err := c.Write(f.Bytes(int(n))); err != nil {
			return err
		}
		sent += n
	}
	return nil
}

// preciseSleep makes sleeps of the calling goroutine end within microseconds
// instead of up to a millisecond (Go's timers) or 50 us (the kernel's slack).
// The returned function undoes it.
func preciseSleep() func() {
	const prSetTimerSlack = 29
	runtime.LockOSThread()
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0)
	return func() {
		syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 0, 0) // back to the default
		runtime.UnlockOSThread()
	}
}
