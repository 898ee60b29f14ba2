package scenario

import (
	"fmt"
	"sync"
	"time"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// jsRecover fills a stream and, while publishing goes on, kills every server
// with SIGKILL. It then measures the time from process start until the stream
// answers again and looks for acknowledged messages that are gone.
func jsRecover(e *Env) ([]stats.Phase, error) {
	target := e.Msgs
	if target == 0 {
		target = min(1_000_000, uint64(e.MaxBytes)/uint64(e.Size)/2)
	}
	if err := e.loadStream(); err != nil {
		return nil, err
	}
	if e.Storage != "file" {
		return nil, fmt.Errorf("js-recover needs --storage file")
	}
	acked, err := publishUntilKill(e, target)
	if err != nil {
		return nil, err
	}
	e.Close()

	written := e.Cluster.Disk()
	started := time.Now()
	if err := e.Cluster.Start(); err != nil {
		return nil, err
	}
	if err := e.Cluster.WaitServing(time.Until(e.deadline)); err != nil {
		return nil, err
	}
	connected := time.Since(started)
	info, err := awaitStream(e)
	if err != nil {
		return nil, err
	}
	serving := time.Since(started)
	cpu := e.Cluster.CPU()
	_, peak := e.Cluster.RSS()
	p := stats.Phase{Name: "main", Values: map[string]float64{
		"stored_msgs":    float64(info.State.Msgs),
		"acked_msgs":     float64(acked),
		"connect_ms":     connected.Seconds() * 1e3,
		"recover_ms":     serving.Seconds() * 1e3,
		"recover_cpu_ms": cpu.Seconds() * 1e3,
		"server_rss_mb":  float64(peak) / 1e6,
		"disk_mb":        float64(written) / 1e6,
	}}
	intact, err := readBack(e, info.State.Msgs)
	if err != nil {
		return []stats.Phase{p}, fmt.Errorf("reading the recovered stream: %w", err)
	}
	lost := acked - min(acked, intact)
	p.Values["lost_msgs"] = float64(lost)
	if lost > 0 {
		return []stats.Phase{p}, fmt.Errorf("%d of %d acknowledged messages lost by SIGKILL", lost, acked)
	}
	return []stats.Phase{p}, nil
}

// publishUntilKill publishes, kills the servers once target messages are
// acknowledged, and returns how many acknowledgements arrived in the end.
func publishUntilKill(e *Env, target uint64) (uint64, error) {
	lines, err := e.jsPipelines(1, target*100, max(e.Window, 2))
	if err != nil {
		return 0, err
	}
	p := lines[0]
	var wg sync.WaitGroup
	var readErr error
	start := time.Now()
	wg.Add(2)
	go func() { defer wg.Done(); p.write(start) }()
	go func() { defer wg.Done(); readErr = p.read(start) }()
	for p.low.Load() < target && time.Now().Before(e.deadline) {
		select {
		case <-p.failed:
			wg.Wait()
			return 0, fmt.Errorf("fill the stream: %w", readErr)
		case <-time.After(time.Millisecond):
		}
	}
	e.Cluster.Kill()
	wg.Wait() // the reader also takes the acks that were still under way
	return p.low.Load(), nil
}

// awaitStream waits until the stream answers and is led.
func awaitStream(e *Env) (*wire.StreamInfo, error) {
	for time.Now().Before(e.deadline) {
		for _, s := range e.Cluster.Servers {
			ctl, err := wire.NewControl(s.Addr, s.Login, e.deadline)
			if err != nil {
				continue
			}
			ctl.Timeout = 50 * time.Millisecond // a cluster without a leader does not answer
			info, err := ctl.Stream(stream)
			ctl.Close()
			if err == nil && (e.Nodes == 1 || info.Cluster.Leader != "") {
				if leader := e.Cluster.Named(info.Cluster.Leader); leader != nil {
					e.leader = leader
				}
				return info, nil
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil, fmt.Errorf("the stream did not come back")
}

// readBack reads the recovered stream from its start and returns how many of
// the publisher's messages are there, complete and in order.
func readBack(e *Env, stored uint64) (uint64, error) {
	none := *e.Settings
	none.Ack = "none"
	e.Settings = &none
	if stored == 0 {
		return 0, nil
	}
	if err := e.createConsumer(wire.ConsumerConfig{Durable: "check"}); err != nil {
		return 0, err
	}
	p, err := e.NewPuller(0, "check")
	if err != nil {
		return 0, err
	}
	check := wire.NewOrdered(1, e.Size)
	p.Check = check.Check
	err = e.Parallel(func() error {
		for check.Got < stored {
			if err := p.Next(); err != nil {
				return fmt.Errorf("after %d of %d messages: %w", check.Got, stored, err)
			}
		}
		return nil
	})
	return check.Got, err
}
