package monitor

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"runtime"
)

// stacksBytesMax bounds the dump of all goroutines' stacks; what is longer is cut.
const stacksBytesMax = 64 << 20

// Stacks returns the stacks of all goroutines as text. It stops the world while it collects them.
func Stacks() []byte {
	for n := 64 << 10; ; n *= 4 {
		n = min(n, stacksBytesMax)
		buf := make([]byte, n)
		if got := runtime.Stack(buf, true); got < n || n == stacksBytesMax {
			return buf[:got]
		}
	}
}

// stacksHTTP sends text, but names it JSON, as clients have come to expect.
func (m *Monitor) stacksHTTP(*http.Request) response {
	return response{code: http.StatusOK, kind: typeJSON, cross: true, body: Stacks()}
}

// ExpvarzStatus is the NATS twin of /debug/vars.
type ExpvarzStatus struct {
	Memstats json.RawMessage `json:"memstats"`
	Cmdline  json.RawMessage `json:"cmdline"`
}

// Expvarz returns the Go runtime's memory figures and the command line. It stops the world for a moment.
func (m *Monitor) Expvarz() *ExpvarzStatus {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return &ExpvarzStatus{Memstats: mustJSON(&ms), Cmdline: mustJSON(m.cmdline())}
}

func (m *Monitor) cmdline() []string {
	if m.args == nil {
		return os.Args[:1]
	}
	return m.args
}

// mustJSON encodes what can always be encoded.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

// varsHTTP writes the variables in the form of Go's expvar package.
func (m *Monitor) varsHTTP(*http.Request) response {
	vars := m.Expvarz()
	var b bytes.Buffer
	b.WriteString("{\n\"cmdline\": ")
	b.Write(vars.Cmdline)
	b.WriteString(",\n\"memstats\": ")
	b.Write(vars.Memstats)
	b.WriteString("\n}\n")
	return response{code: http.StatusOK, kind: typeJSON + "; charset=utf-8", body: b.Bytes()}
}
