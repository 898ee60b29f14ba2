package client

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// printf prints for people.
func (t *Tool) printf(format string, args ...any) { fmt.Fprintf(t.Out, format, args...) }

// printJSON prints for programs.
func (t *Tool) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(t.Out, "%s\n", b)
	}
	return err
}

// table prints rows under heads, in columns.
func (t *Tool) table(heads []string, rows [][]string) {
	w := tabwriter.NewWriter(t.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(heads, "\t")))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	w.Flush()
}

// facts prints pairs of name and value under a title.
func (t *Tool) facts(title string, pairs ...[2]string) {
	t.printf("%s\n\n", title)
	w := tabwriter.NewWriter(t.Out, 0, 8, 2, ' ', 0)
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(w, "  %s\t%s\n", p[0], p[1])
		}
	}
	w.Flush()
}

// size is n bytes as people read it.
func size(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}

// count is n with commas between thousands.
func count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// limit is a bound, of which 0 and below are none.
func limit(n int64, show func(uint64) string) string {
	if n <= 0 {
		return "unlimited"
	}
	return show(uint64(n))
}

// span is a duration as people read it.
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Microsecond).String()
	case d < 24*time.Hour:
		return d.Round(10 * time.Millisecond).String()
	}
	return fmt.Sprintf("%dd%s", d/(24*time.Hour), (d % (24 * time.Hour)).Round(time.Minute))
}

func seconds(s float64) string { return span(time.Duration(s * float64(time.Second))) }

func when(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

// confirm asks before something is destroyed. Where nobody can answer, only --force goes on.
func (c *call) confirm(question string) error {
	if c.Bool("force") {
		return nil
	}
	if !c.t.Terminal {
		return usage("%s Use --force to say yes where nobody can answer", question)
	}
	c.t.printf("%s [y/N] ", question)
	line, _ := bufio.NewReader(c.t.In).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(line)); a != "y" && a != "yes" {
		return fmt.Errorf("nothing was changed")
	}
	return nil
}

// progress shows how far long work is, on a terminal only. The text is that of the end if done.
func (t *Tool) progress(text string, done bool) {
	if !t.Terminal {
		return
	}
	fmt.Fprintf(t.Err, "\r\x1b[K%s", text)
	if done {
		fmt.Fprintln(t.Err)
	}
}
