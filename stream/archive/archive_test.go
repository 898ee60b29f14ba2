package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
)

func write(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		if err := w.Write(&entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(b []byte) (out []string, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var e Entry
	for {
		if err := r.Next(&e); err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("%s %d %d %q %q", e.Name, e.Time, e.Seq, e.Header, e.Payload))
	}
}

func TestArchive(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 3<<20)
	b := write(t, Entry{Name: []byte(StateName), Time: 5, Payload: []byte("{}")}, Entry{Name: []byte("s.a"), Time: -1, Seq: 7, Header: []byte("NATS/1.0\r\n\r\n")},
		Entry{Name: []byte("s.b"), Time: 1 << 60, Seq: 1 << 63, Payload: big})
	got, err := readAll(b)
	if err != io.EOF || len(got) != 3 || got[0] != `state.json 5 0 "" "{}"` || got[1] != `s.a -1 7 "NATS/1.0\r\n\r\n" ""` || len(got[2]) < len(big) {
		t.Fatalf("%.200v %v", got, err)
	}
	for _, n := range []int{0, 1, 9, len(b) / 2, len(b) - 1} {
		if _, err := readAll(b[:n]); err == io.EOF || err == nil {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := readAll([]byte("something else")); !errors.Is(err, ErrFormat) {
		t.Errorf("%v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(write(f, Entry{Name: []byte("s.a"), Time: 1, Seq: 1, Payload: []byte("x")}))
	f.Add(write(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		if out, err := readAll(b); err == nil {
			t.Fatal(out)
		}
	})
}
