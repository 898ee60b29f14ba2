package versus

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// column is one standard column of the table.
type column struct {
	key, title, format string
}

func columns() []column {
	return []column{
		{"msgs_per_s", "msgs/s", "%.0f"},
		{"mb_per_s", "MB/s", "%.1f"},
		{"server_cpu_s_M", "server CPU s/M", "%.3f"},
		{"client_cpu_s_M", "client CPU s/M", "%.3f"},
		{"p50_us", "p50 us", "%.0f"},
		{"p99_us", "p99 us", "%.0f"},
		{"p999_us", "p99.9 us", "%.0f"},
		{"server_rss_mb", "RSS MB", "%.0f"},
		{"disk_mb", "disk MB", "%.0f"},
	}
}

// isSilent tells which values the table leaves out; they are in the JSON.
func isSilent(key string) bool {
	switch key {
	case "msgs", "secs", "max_us", "disk_written_mb", "server_cpu_s", "reads_per_msg", "writes_per_msg":
		return true
	}
	return false
}

// extras names the values that have no standard column.
func extras[V any](values map[string]V) []string {
	var out []string
	for k := range values {
		if !isSilent(k) && !slices.ContainsFunc(columns(), func(c column) bool { return c.key == k }) {
			out = append(out, k)
		}
	}
	sort.Strings(out)
	return out
}

// Table prints the medians, one line per side, and the ratio A/B.
func (r *Report) Table(w io.Writer, markdown bool) {
	rows := [][]string{{"scenario", "size", "side"}}
	for _, c := range columns() {
		rows[0] = append(rows[0], c.title)
	}
	rows[0] = append(rows[0], "spread", "other")
	for _, c := range r.Cases {
		if len(c.Summary) == 0 {
			why := "failed"
			for _, run := range c.Runs {
				if run.Error != "" {
					why, _, _ = strings.Cut(run.Error, "\n")
				}
			}
			rows = append(rows, []string{c.title(""), fmt.Sprint(c.Size), "A", why})
		}
		for i := range c.Summary {
			s := &c.Summary[i]
			name := c.title(s.Phase)
			rows = append(rows, s.row(name, c.Size, "A", func(st *Stat) (float64, []float64) { return st.A, st.RunsA }))
			if r.Servers["b"] != "" {
				rows = append(rows, s.row("", c.Size, "B", func(st *Stat) (float64, []float64) { return st.B, st.RunsB }))
				rows = append(rows, s.ratioRow())
			}
		}
	}
	if markdown {
		printMarkdown(w, rows)
	} else {
		printAligned(w, rows)
	}
}

// title names a case and its notable settings.
func (c *Case) title(phase string) string {
	name := c.Scenario
	if phase != "" && phase != "main" {
		name += "/" + phase
	}
	var notes []string
	if v, ok := c.Settings["storage"]; ok {
		notes = append(notes, v, "R"+c.Settings["replicas"])
		if c.Settings["sync"] == "always" {
			notes = append(notes, "sync always")
		}
		if c.Settings["ack"] == "none" && strings.Contains(c.Scenario, "consume") {
			notes = append(notes, "ack none")
		}
		if c.Settings["via"] != "leader" && c.Settings["nodes"] == "3" {
			notes = append(notes, "via "+c.Settings["via"])
		}
	} else if c.Settings["nodes"] == "3" {
		notes = append(notes, "3 nodes")
	}
	for _, k := range []string{"conns", "subs"} {
		if v, ok := c.Settings[k]; ok {
			notes = append(notes, k+" "+v)
		}
	}
	if len(notes) > 0 {
		name += " (" + strings.Join(notes, ", ") + ")"
	}
	return name
}

func (s *Summary) row(name string, size int, side string, pick func(*Stat) (float64, []float64)) []string {
	row := []string{name, fmt.Sprint(size), side}
	for _, c := range columns() {
		cell := ""
		if st := s.Stats[c.key]; st != nil {
			if v, runs := pick(st); len(runs) > 0 {
				cell = fmt.Sprintf(c.format, v)
			}
		}
		row = append(row, cell)
	}
	row = append(row, spread(s, pick))
	var other []string
	for _, k := range extras(s.Stats) {
		if v, runs := pick(s.Stats[k]); len(runs) > 0 {
			other = append(other, fmt.Sprintf("%s=%.4g", k, v))
		}
	}
	return append(row, strings.Join(other, " "))
}

// spread says how far apart the rounds are: (max-min)/median of the rate and
// of the server's CPU.
func spread(s *Summary, pick func(*Stat) (float64, []float64)) string {
	var out []string
	for _, k := range []string{"msgs_per_s", "server_cpu_s_M"} {
		st := s.Stats[k]
		if st == nil {
			continue
		}
		mid, runs := pick(st)
		if len(runs) > 1 && mid > 0 {
			out = append(out, fmt.Sprintf("%.0f%%", 100*(slices.Max(runs)-slices.Min(runs))/mid))
		}
	}
	return strings.Join(out, " / ")
}

func (s *Summary) ratioRow() []string {
	row := []string{"", "", "A/B"}
	cell := func(k string) string {
		if st := s.Stats[k]; st != nil && st.Ratio != 0 {
			return fmt.Sprintf("%.2fx", st.Ratio)
		}
		return ""
	}
	for _, c := range columns() {
		row = append(row, cell(c.key))
	}
	row = append(row, "")
	var other []string
	for _, k := range extras(s.Stats) {
		if v := cell(k); v != "" {
			other = append(other, k+"="+v)
		}
	}
	return append(row, strings.Join(other, " "))
}

func printAligned(w io.Writer, rows [][]string) {
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			if i < len(row)-1 { // the last cell of a row needs no padding
				width[i] = max(width[i], len(cell))
			}
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i < 1 || i >= len(columns())+3 {
				fmt.Fprintf(&b, "%-*s  ", width[i], cell)
			} else {
				fmt.Fprintf(&b, "%*s  ", width[i], cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

func printMarkdown(w io.Writer, rows [][]string) {
	for i, row := range rows {
		for len(row) < len(rows[0]) {
			row = append(row, "")
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|---|%s---|---|\n", strings.Repeat("---:|", len(row)-3))
		}
	}
}
