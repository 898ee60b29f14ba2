package versus

import (
	"testing"

	"godwit/tests/load/stats"
)

func TestSummarize(t *testing.T) {
	run := func(side string, round int, v float64) Run {
		return Run{Side: side, Round: round, Phases: []stats.Phase{{Name: "main", Values: map[string]float64{"x": v}}}}
	}
	st := summarize([]Run{run("A", 1, 10), run("B", 1, 5), run("A", 2, 30), run("B", 2, 10), run("A", 3, 8), run("B", 3, 8)})[0].Stats["x"]
	if st.A != 10 || st.B != 8 || st.Ratio != 2 {
		t.Errorf("%+v", st)
	}
}
