package versus

import (
	"slices"
	"testing"
)

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		args []string
		ok   bool
	}{
		{[]string{"--a", "x"}, true},
		{[]string{"--a", "x", "--size", "16,128, 1024", "--replicas", "3", "--sync-a", "always"}, true},
		{nil, false},
		{[]string{"--a", "x", "--size", "8"}, false},
		{[]string{"--a", "x", "--size", "big"}, false},
		{[]string{"--a", "x", "--nodes", "2"}, false},
		{[]string{"--a", "x", "--storage", "tape"}, false},
		{[]string{"--a", "x", "--sync", "never"}, false},
		{[]string{"--a", "x", "--churn", "0"}, false},
	} {
		var o Options
		var sizes string
		f := Flags(&o, &sizes)
		if err := f.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if err := o.Finish(sizes); (err == nil) != tt.ok {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
}

func TestOptionsFollowFromOthers(t *testing.T) {
	var o Options
	var sizes string
	f := Flags(&o, &sizes)
	if err := f.Parse([]string{"--a", "x", "--replicas", "3", "--size", "16,1024", "--sync", "lazy", "--sync-b", "always"}); err != nil {
		t.Fatal(err)
	}
	if err := o.Finish(sizes); err != nil {
		t.Fatal(err)
	}
	if o.Nodes != 3 || !slices.Equal(o.Sizes, []int{16, 1024}) || o.syncOf("A") != "lazy" || o.syncOf("B") != "always" {
		t.Errorf("got %+v", o)
	}
}
