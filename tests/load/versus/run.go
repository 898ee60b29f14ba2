// Package versus runs scenarios on one server binary or on two by turns, and compares them.
package versus

import (
	"errors"
	"fmt"
	"io"
	"math"

	"godwit/tests/load/fleet"
	"godwit/tests/load/scenario"
	"godwit/tests/load/stats"
)

// Run is one execution of one scenario on one side.
type Run struct {
	Side   string        `json:"side"`
	Round  int           `json:"round"`
	Phases []stats.Phase `json:"phases,omitempty"`
	Error  string        `json:"error,omitempty"`
}

// Case is a scenario with its size and settings, and all its runs.
type Case struct {
	Scenario string            `json:"scenario"`
	Size     int               `json:"size"`
	Msgs     uint64            `json:"msgs"`
	Settings map[string]string `json:"settings"`
	Runs     []Run             `json:"runs"`
	Summary  []Summary         `json:"summary"`
}

// Runner runs comparisons in one scratch directory.
type Runner struct {
	opts    *Options
	scratch *fleet.Scratch
}

// NewRunner returns a runner; both arguments are shared.
func NewRunner(o *Options, scratch *fleet.Scratch) *Runner { return &Runner{o, scratch} }

// Case runs all rounds of one scenario and size. The case is usable also after an error.
func (r *Runner) Case(sc *scenario.Scenario, size int) (*Case, error) {
	o := r.opts
	c := &Case{Scenario: sc.Name, Size: size, Settings: settings(o, sc)}
	msgs := o.Msgs
	if msgs == 0 && sc.Trial > 0 {
		var err error
		if msgs, err = r.calibrate(sc, size); err != nil {
			c.Runs = append(c.Runs, Run{Side: "A", Error: "trial run: " + err.Error()})
			return c, err
		}
	}
	c.Msgs = msgs
	var failures []error
	for round := 1; round <= o.Rounds; round++ {
		for _, side := range []string{"A", "B"} {
			if side == "B" && o.B == "" {
				continue
			}
			label := ""
			if round == 1 {
				label = fmt.Sprintf("%s-%s-%d-%s-r%d", side, sc.Name, size, o.Storage, o.Replicas)
			}
			phases, err := r.runOnce(sc, side, size, msgs, label)
			run := Run{Side: side, Round: round, Phases: phases}
			if err != nil {
				run.Error = err.Error()
				if !errors.Is(err, scenario.ErrUnsupported) {
					failures = append(failures, fmt.Errorf("%s size %d, %s round %d: %w", sc.Name, size, side, round, err))
				}
			}
			progress(o.Log, sc, size, &run)
			c.Runs = append(c.Runs, run)
		}
	}
	c.Summary = summarize(c.Runs)
	return c, errors.Join(failures...)
}

// calibrate finds how many messages fill the wanted time.
func (r *Runner) calibrate(sc *scenario.Scenario, size int) (uint64, error) {
	o := r.opts
	most := max(float64(o.MaxBytes)/float64(size), 1000)
	msgs := min(sc.Trial, uint64(most))
	for try := 0; ; try++ {
		phases, err := r.runOnce(sc, "A", size, msgs, "")
		if errors.Is(err, scenario.ErrUnsupported) {
			return msgs, nil
		}
		if err != nil {
			return 0, err
		}
		timed := phases[0]
		for _, p := range phases {
			if p.Name == sc.Timed {
				timed = p
			}
		}
		took := timed.Values["secs"]
		want := math.Min(float64(msgs)*o.Secs/took, most)
		if took >= o.Secs/10 || try == 2 || want == most {
			return roundTo2(want), nil
		}
		msgs = uint64(want / 4)
	}
}

// roundTo2 rounds to two significant digits.
func roundTo2(v float64) uint64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return uint64(math.Max(math.Round(v/unit)*unit, 1))
}

// runOnce starts fresh servers of side A or B, runs the scenario once and cleans up.
func (r *Runner) runOnce(sc *scenario.Scenario, side string, size int, msgs uint64, label string) ([]stats.Phase, error) {
	o := r.opts
	bin, extra, accounts := o.A, o.ExtraA, o.AccountsA
	if side == "B" {
		bin, extra, accounts = o.B, o.ExtraB, o.AccountsB
	}
	cluster, remove, err := r.scratch.Cluster(fleet.Options{
		Bin: bin, Nodes: o.Nodes, JetStream: sc.JS, Sync: o.syncOf(side),
		Profile: o.ProfDir != "", Extra: extra, TLS: o.TLS, Accounts: accounts,
	})
	if err != nil {
		return nil, err
	}
	defer remove()
	if err := cluster.Start(); err != nil {
		return nil, err
	}
	e, err := scenario.NewEnv(&o.Settings, cluster, msgs, size, label)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	phases, err := sc.Run(e)
	if cause := e.Aborted(); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	return phases, err
}

// settings lists the options that matter to a scenario.
func settings(o *Options, sc *scenario.Scenario) map[string]string {
	s := map[string]string{"nodes": fmt.Sprint(o.Nodes)}
	if sc.JS {
		s["storage"], s["replicas"], s["sync"] = o.Storage, fmt.Sprint(o.Replicas), o.syncOf("A")
		if o.B != "" && o.syncOf("B") != o.syncOf("A") {
			s["sync_b"] = o.syncOf("B")
		}
		s["window"], s["ack"], s["batch"] = fmt.Sprint(o.Window), o.Ack, fmt.Sprint(o.Batch)
		s["subjects"], s["via"] = fmt.Sprint(o.Subjects), o.Via
	}
	if o.Conns != 0 {
		s["conns"] = fmt.Sprint(o.Conns)
	}
	if o.Subs != 0 {
		s["subs"] = fmt.Sprint(o.Subs)
	}
	return s
}

// progress prints one finished run.
func progress(w io.Writer, sc *scenario.Scenario, size int, r *Run) {
	if r.Error != "" {
		fmt.Fprintf(w, "%s %d B, %s round %d: %s\n", sc.Name, size, r.Side, r.Round, r.Error)
	}
	for _, p := range r.Phases {
		v := p.Values
		fmt.Fprintf(w, "%s %d B, %s round %d, %s:", sc.Name, size, r.Side, r.Round, p.Name)
		if v["msgs_per_s"] > 0 {
			fmt.Fprintf(w, " %.0f msgs/s in %.1f s, server %.3f and client %.3f CPU s/M",
				v["msgs_per_s"], v["secs"], v["server_cpu_s_M"], v["client_cpu_s_M"])
		}
		if _, ok := v["p50_us"]; ok {
			fmt.Fprintf(w, ", p50 %.0f p99 %.0f us", v["p50_us"], v["p99_us"])
		}
		for _, k := range extras(v) {
			fmt.Fprintf(w, ", %s %.4g", k, v[k])
		}
		fmt.Fprintln(w)
	}
}
