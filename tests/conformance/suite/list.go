package suite

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// List is a set of tests by Key, stored one per line; what follows a # is a comment. The comment
// lines at the start of the file are kept when the list is written again. A nil List is empty.
type List struct {
	head  string
	tests map[string]bool
}

// ReadList reads a stored list. A file that does not exist is an empty list.
func ReadList(file string) (*List, error) {
	l := &List{tests: map[string]bool{}}
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line, _, comment := strings.Cut(in.Text(), "#")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			if comment && len(l.tests) == 0 {
				l.head += in.Text() + "\n"
			}
		case !strings.Contains(line, "/") || strings.ContainsAny(line, " \t"):
			return nil, fmt.Errorf("%s:%d: %q: want package/test", file, n, line)
		case l.tests[line]:
			return nil, fmt.Errorf("%s:%d: %s is listed twice", file, n, line)
		default:
			l.tests[line] = true
		}
	}
	return l, in.Err()
}

// Len tells how many tests the list holds.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.tests)
}

// Has tells whether a test is listed.
func (l *List) Has(key string) bool { return l != nil && l.tests[key] }

// Keys returns the listed tests, sorted.
func (l *List) Keys() []string {
	if l == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(l.tests))
}

// Add puts a test on the list.
func (l *List) Add(key string) { l.tests[key] = true }

// InPackage names the listed tests of one package whose names match the expression; an empty one
// matches all.
func (l *List) InPackage(pkg, expr string) []string {
	match, err := topLevel(expr)
	if err != nil {
		return nil
	}
	var out []string
	for _, key := range l.Keys() {
		dir, test := splitKey(key)
		if dir == pkg && match.MatchString(test) {
			out = append(out, test)
		}
	}
	return out
}

// Write stores the list, sorted, so that a change adds lines and moves none.
func (l *List) Write(file string) error {
	text := l.head
	for _, key := range l.Keys() {
		text += key + "\n"
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// splitKey undoes Key. The root package is a plain dot.
func splitKey(key string) (pkg, test string) {
	dir, test := path.Split(key)
	return path.Clean(dir), test
}

// topLevel compiles the part of a -run expression that applies to top-level tests.
func topLevel(expr string) (*regexp.Regexp, error) {
	top, _, _ := strings.Cut(expr, "/")
	return regexp.Compile(top)
}

// CheckRun tells whether a -run expression can be used.
func CheckRun(expr string) error {
	_, err := topLevel(expr)
	return err
}
