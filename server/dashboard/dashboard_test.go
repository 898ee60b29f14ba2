package dashboard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fake holds one stream with one message larger than what is shown.
type fake struct{ asked []any }

func (f *fake) Streams(account string, offset, limit int) ([]Stream, int) {
	f.asked = []any{account, offset, limit}
	return []Stream{{Account: "A", Name: "S"}}, 1
}

func (f *fake) Stream(account, name string) (*Stream, error) {
	if account != "A" || name != "S" {
		return nil, ErrNoStream
	}
	return &Stream{Account: account, Name: name}, nil
}

func (f *fake) Consumers(account, stream string, offset, limit int) ([]Consumer, int, error) {
	f.asked = []any{account, stream, offset, limit}
	if stream != "S" {
		return nil, 0, ErrNoStream
	}
	return []Consumer{{Name: "C"}}, 1, nil
}

func (f *fake) Messages(account, stream string, from uint64, filter string, limit int) ([]Message, error) {
	f.asked = []any{account, stream, from, filter, limit}
	return []Message{{Seq: from, Data: make([]byte, valueMost+1), Header: strings.Repeat("h", valueMost+1), Size: valueMost + 1}}, nil
}

func TestAnswers(t *testing.T) {
	f := &fake{}
	may := true
	h := New(Options{Source: f, MayRead: func(*http.Request) bool { return may }})
	get := func(path string) (int, string, http.Header) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String(), w.Header()
	}
	for _, tt := range []struct {
		path string
		code int
		part string // of the answer
	}{
		{"/", 200, "<title>Godwit</title>"},
		{"/app.js", 200, "class Plot"},
		{"/uPlot.LICENSE", 200, "MIT"},
		{"/nothing", 404, ""},
		{"/api/streams", 200, `"name":"S"`},
		{"/api/streams?offset=x", 400, `offset: want a number`},
		{"/api/streams?limit=1001", 400, `limit: want a number from 0 to 1000`},
		{"/api/stream?account=A&stream=S", 200, `"name":"S"`},
		{"/api/stream?account=B&stream=S", 404, "no such stream"},
		{"/api/consumers?account=A&stream=S&offset=5&limit=7", 200, `"name":"C"`},
		{"/api/consumers?account=A&stream=T", 404, "no such stream"},
		{"/api/messages?account=A&stream=S&from=7&subject=a.*&limit=3", 200, `"cut":true`},
		{"/api/messages?account=A&stream=S&from=-1", 400, "from: want a number"},
		{"/api/messages?account=A&stream=S&limit=101", 400, "limit: want a number from 0 to 100"},
		{"/api/may", 200, `{"messages":true}`},
	} {
		code, body, header := get(tt.path)
		if code != tt.code || !strings.Contains(body, tt.part) {
			t.Errorf("%s: %d %.200s", tt.path, code, body)
		}
		if !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'self'") || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", tt.path, header)
		}
	}
	code, body, _ := get("/api/messages?account=A&stream=S&from=7&subject=a.*&limit=3")
	var got struct{ Messages []Message }
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 || len(got.Messages) != 1 || len(got.Messages[0].Data) != valueMost || got.Messages[0].Seq != 7 || got.Messages[0].Size != valueMost+1 {
		t.Errorf("%d %v %d messages", code, err, len(got.Messages))
	}
	if len(f.asked) != 5 || f.asked[3] != "a.*" || f.asked[4] != 3 {
		t.Errorf("asked for %v", f.asked)
	}
	may, f.asked = false, nil
	if code, body, _ := get("/api/messages?account=A&stream=S"); code != 403 || f.asked != nil || strings.Contains(body, `"messages"`) {
		t.Errorf("without permission: %d %.100s", code, body)
	}
	if w := httptest.NewRecorder(); true {
		h.ServeHTTP(w, httptest.NewRequest("POST", "/api/streams", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", w.Code)
		}
	}
}

// The pages name no other host.
func TestPagesAskNobodyElse(t *testing.T) {
	entries, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := assets.ReadFile("assets/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"http://", "https://", "//cdn"} {
			if strings.Contains(strings.ReplaceAll(string(b), "/*! https://github.com/leeoniya/uPlot", ""), word) && !strings.HasSuffix(e.Name(), "LICENSE") {
				t.Errorf("%s has %s", e.Name(), word)
			}
		}
	}
}
