package monitor

import (
	"os"
	"testing"
)

func FuzzStatm(f *testing.F) {
	f.Add([]byte("1234 567 89 1 0 2 0\n"))
	f.Add([]byte(""))
	f.Add([]byte("1 x"))
	f.Add([]byte("1 -5"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, ok := statmResident(b, 4096); ok && n == 0 {
			t.Errorf("%q: no pages", b)
		}
	})
	if n, ok := statmResident([]byte("1234 567 89"), 4096); !ok || n != 567*4096 {
		f.Error(n, ok)
	}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, ok := statmResident(b, os.Getpagesize()); !ok {
			f.Errorf("%q not understood", b)
		}
	}
}
