package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"godwit/tests/conformance/tester"
)

func listOf(keys ...string) *List {
	l := &List{tests: map[string]bool{}}
	for _, key := range keys {
		l.Add(key)
	}
	return l
}

func TestListKeepsItsHeadAndGrowsSorted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.txt")
	l, err := ReadList(file)
	if err != nil || l.Len() != 0 {
		t.Fatalf("a missing file gave %d tests, %v", l.Len(), err)
	}
	if err := os.WriteFile(file, []byte("# one\n# two\nb/TestB\n./TestRoot # inline\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if l, err = ReadList(file); err != nil {
		t.Fatal(err)
	}
	l.Add("a/TestA")
	if err := l.Write(file); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	if want := "# one\n# two\n./TestRoot\na/TestA\nb/TestB\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestListRejectsWhatIsNoTest(t *testing.T) {
	for text, want := range map[string]string{
		"TestA\n":              ":1:",
		"\na/TestA pass\n":     ":2:",
		"a/TestA\na/TestA\n":   "twice",
		"# fine\na/Test\tA \n": ":2:",
	} {
		file := filepath.Join(t.TempDir(), "list.txt")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadList(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestListInPackage(t *testing.T) {
	l := listOf("./TestRoot", "test/TestB", "test/TestA", "jetstream/test/TestC")
	for _, tt := range []struct {
		pkg, expr string
		want      []string
	}{
		{".", "", []string{"TestRoot"}},
		{"test", "", []string{"TestA", "TestB"}},
		{"test", "^TestA$/sub", []string{"TestA"}},
		{"jetstream/test", "TestA", nil},
	} {
		if got := l.InPackage(tt.pkg, tt.expr); !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: got %v, want %v", tt.pkg, tt.expr, got, tt.want)
		}
	}
	var none *List
	if none.Has("a/b") || none.Len() != 0 || none.InPackage("a", "") != nil {
		t.Error("a nil list is not empty")
	}
}

func TestJudge(t *testing.T) {
	rep := newReport(map[string]*Result{
		"p/Good":    {Package: "p", Name: "Good", Status: Pass, Attempts: 1},
		"p/Bad":     {Package: "p", Name: "Bad", Status: Fail, Attempts: 4},
		"p/Skipped": {Package: "p", Name: "Skipped", Status: Skip, Attempts: 1},
		"p/New":     {Package: "p", Name: "New", Status: Pass, Attempts: 1},
		"p/Ignored": {Package: "p", Name: "Ignored", Status: Fail, Attempts: 1},
	}, map[string]float64{"p": 1})
	rep.Alarms = []tester.Alarm{
		{Test: "Good", Fault: true},
		{Test: "Goodness", Fault: true},
		{Test: "Bad"},
	}
	listed := listOf("p/Good", "p/Bad", "p/Skipped", "p/Missing", "q/Elsewhere")
	v, err := Judge(rep, listed, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"broken", v.Broken, []string{"p/Bad", "p/Missing (did not run)", "p/Skipped (skipped)"}},
		{"faulty", v.Faulty, []string{"p/Good"}},
		{"new", v.New, []string{"p/New"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
	if v.OK() {
		t.Error("all is said to be well")
	}
	if v.Extend(listed, listOf("p/New")) != 0 {
		t.Error("an unsteady test was put on the list")
	}
	before := listed.Len()
	if v.Extend(listed, nil) != 1 || listed.Len() != before+1 || !listed.Has("p/New") || !listed.Has("p/Bad") {
		t.Errorf("extended list: %v", listed.Keys())
	}
	if v, err = Judge(rep, listOf("p/Good", "p/Missing"), "^Good$"); err != nil || len(v.Broken) != 0 {
		t.Errorf("tests that --run leaves out count as broken: %v, %v", v.Broken, err)
	}
}
