// Package dashboard is the look inside on the monitoring port: pages that are part of the program and contact no other host, and
// the answers that they need beside those of the monitoring endpoints.
package dashboard

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"time"
)

// Path is where the pages are, below the base path of the monitoring port.
const Path = "/dashboard/"

//go:embed assets
var assets embed.FS

// Bounds of one answer.
const (
	consumersMost = 100
	messagesMost  = 100
	valueMost     = 64 << 10 // bytes of a payload, and of a header block, that are shown
	streamsMost   = 1000
)

// Errors of a Source.
var (
	ErrNoStream  = errors.New("there is no such stream")
	ErrForbidden = errors.New("messages are not shown here: log in as a user of http_authorization with `messages: true`, or set http_messages")
)

// Source supplies what is shown. Any goroutine may call it.
type Source interface {
	// Streams lists the streams of an account, or of all with account "", sorted, at most limit from the offset-th on, and how
	// many there are.
	Streams(account string, offset, limit int) (list []Stream, total int)
	// Stream describes one with its partitions; ErrNoStream.
	Stream(account, name string) (*Stream, error)
	// Consumers lists consumers of a stream likewise; ErrNoStream.
	Consumers(account, stream string, offset, limit int) (list []Consumer, total int, err error)
	// Messages lists messages from a sequence on whose subjects match the filter; ErrNoStream.
	Messages(account, stream string, from uint64, filter string, limit int) ([]Message, error)
}

// Stream is one stream.
type Stream struct {
	Account    string      `json:"account"`
	Name       string      `json:"name"`
	Subjects   []string    `json:"subjects,omitempty"`
	Storage    string      `json:"storage"`
	Retention  string      `json:"retention"`
	Messages   uint64      `json:"messages"`
	Bytes      uint64      `json:"bytes"`
	FirstSeq   uint64      `json:"first_seq"`
	LastSeq    uint64      `json:"last_seq"`
	FirstTime  time.Time   `json:"first_ts,omitzero"`
	LastTime   time.Time   `json:"last_ts,omitzero"`
	Consumers  int         `json:"consumers"`
	Partitions int         `json:"partitions"`
	Parts      []Partition `json:"parts,omitempty"`
	Config     any         `json:"config,omitempty"`
}

// Partition is one partition of a stream.
type Partition struct {
	Number   int    `json:"partition"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
}

// Consumer is one consumer. Ages are in seconds, 0 if there is no such message.
type Consumer struct {
	Name        string   `json:"name"`
	Push        bool     `json:"push"`
	Durable     bool     `json:"durable"`
	Filters     []string `json:"filters,omitempty"`
	AckPolicy   string   `json:"ack_policy"`
	Pending     uint64   `json:"pending"` // to be delivered
	AckPending  int      `json:"ack_pending"`
	Redelivered int      `json:"redelivered"`
	Waiting     int      `json:"waiting"`
	Bound       bool     `json:"bound"`
	Paused      bool     `json:"paused"`
	Delivered   uint64   `json:"delivered"` // stream sequence
	AckFloor    uint64   `json:"ack_floor"` // stream sequence
	LagSeconds  float64  `json:"lag_seconds"`
	AckSeconds  float64  `json:"ack_seconds"`
}

// Message is a stored message. Header and Data are cut at 64 KiB.
type Message struct {
	Seq     uint64    `json:"seq"`
	Subject string    `json:"subject"`
	Time    time.Time `json:"time"`
	Header  string    `json:"header,omitempty"`
	Data    []byte    `json:"data"`
	Size    int       `json:"size"`
	Cut     bool      `json:"cut,omitempty"`
}

// Options configures the handler.
type Options struct {
	Source Source
	// MayRead says whether a request may see stored messages.
	MayRead func(*http.Request) bool
}

// New returns the handler of what lies under Path, which the request's path must have lost.
func New(o Options) http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	h := &handler{o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/streams", h.answer(h.streams))
	mux.HandleFunc("GET /api/stream", h.answer(h.stream))
	mux.HandleFunc("GET /api/consumers", h.answer(h.consumers))
	mux.HandleFunc("GET /api/messages", h.answer(h.messages))
	mux.HandleFunc("GET /api/may", h.answer(h.may))
	mux.Handle("GET /", http.FileServerFS(files))
	return secured(mux)
}

// secured lets browsers load nothing from elsewhere, and show the pages in no other page.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		next.ServeHTTP(w, r)
	})
}

type handler struct{ Options }

// answer sends what f returns as JSON.
func (h *handler) answer(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		code := http.StatusOK
		switch {
		case errors.Is(err, ErrNoStream):
			code = http.StatusNotFound
		case errors.Is(err, ErrForbidden):
			code = http.StatusForbidden
		case err != nil:
			code = http.StatusBadRequest
		}
		if err != nil {
			v = map[string]string{"error": err.Error()}
		}
		b, err := json.Marshal(v)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		w.Write(b)
	}
}

// number reads a parameter between 0 and most; absent it is preset.
func number(r *http.Request, name string, preset, most uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return preset, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		return 0, fmt.Errorf("%s: want a number from 0 to %d, got %q", name, most, text)
	}
	return n, nil
}

// page reads offset and limit.
func page(r *http.Request, most uint64) (offset, limit int, err error) {
	o, err := number(r, "offset", 0, 1<<31-1)
	if err != nil {
		return 0, 0, err
	}
	l, err := number(r, "limit", most, most)
	return int(o), int(l), err
}

func (h *handler) may(r *http.Request) (any, error) {
	return map[string]bool{"messages": h.MayRead(r)}, nil
}

func (h *handler) streams(r *http.Request) (any, error) {
	offset, limit, err := page(r, streamsMost)
	if err != nil {
		return nil, err
	}
	list, total := h.Source.Streams(r.URL.Query().Get("account"), offset, limit)
	return struct {
		Total   int      `json:"total"`
		Streams []Stream `json:"streams"`
	}{total, list}, nil
}

func (h *handler) stream(r *http.Request) (any, error) {
	q := r.URL.Query()
	return h.Source.Stream(q.Get("account"), q.Get("stream"))
}

func (h *handler) consumers(r *http.Request) (any, error) {
	offset, limit, err := page(r, consumersMost)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	list, total, err := h.Source.Consumers(q.Get("account"), q.Get("stream"), offset, limit)
	return struct {
		Total     int        `json:"total"`
		Consumers []Consumer `json:"consumers"`
	}{total, list}, err
}

func (h *handler) messages(r *http.Request) (any, error) {
	if !h.MayRead(r) {
		return nil, ErrForbidden
	}
	from, err := number(r, "from", 1, 1<<64-1)
	if err != nil {
		return nil, err
	}
	limit, err := number(r, "limit", 20, messagesMost)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	list, err := h.Source.Messages(q.Get("account"), q.Get("stream"), from, q.Get("subject"), int(limit))
	for i := range list {
		m := &list[i]
		if len(m.Data) > valueMost {
			m.Data, m.Cut = m.Data[:valueMost], true
		}
		if len(m.Header) > valueMost {
			m.Header, m.Cut = m.Header[:valueMost], true
		}
	}
	return struct {
		Messages []Message `json:"messages"`
	}{list}, err
}
