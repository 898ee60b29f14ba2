package ws

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of headers, as they are sent.
const (
	headerVersion    = "Sec-Websocket-Version"
	headerKey        = "Sec-Websocket-Key"
	headerExtensions = "Sec-Websocket-Extensions"
	headerNoMasking  = "Nats-No-Masking"

	// version is the only one of the protocol that is spoken.
	version = "13"
	// acceptSalt is what the RFC has the server append to the client's key.
	acceptSalt = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	// deflateAnswer is the extension as it is agreed on.
	deflateAnswer = deflateName + "; server_no_context_takeover; client_no_context_takeover"
	deflateName   = "permessage-deflate"
)

// Refusal is why a request does not open a WebSocket. The client is told the status; the cause is for the log.
type Refusal struct {
	Status int
	Cause  string
}

func (e *Refusal) Error() string { return e.Cause }

func badRequest(cause string) error { return &Refusal{http.StatusBadRequest, cause} }

// Offer is what a client asks for.
type Offer struct {
	Key       string
	Deflate   bool // it can do compression in a form that Config.Deflate serves
	NoMasking bool // it would rather not mask its frames
}

// CheckRequest reads a client's opening request. The error is a *Refusal.
func CheckRequest(req *http.Request) (*Offer, error) {
	key := req.Header.Get(headerKey)
	switch {
	case req.Method != http.MethodGet:
		return nil, &Refusal{http.StatusMethodNotAllowed, "method is not GET"}
	case req.Host == "":
		return nil, badRequest("no Host header")
	case !listHas(req.Header["Upgrade"], "websocket"):
		return nil, badRequest("Upgrade header does not ask for websocket")
	case !listHas(req.Header["Connection"], "upgrade"):
		return nil, badRequest("Connection header does not ask for an upgrade")
	case key == "":
		return nil, badRequest("no key")
	case !validKey(key):
		return nil, badRequest("key is not 16 bytes in base64")
	case !listHas(req.Header[headerVersion], version):
		return nil, badRequest("version is not " + version)
	}
	return &Offer{Key: key, Deflate: offersDeflate(req.Header[headerExtensions]),
		NoMasking: req.Header.Get(headerNoMasking) == "true"}, nil
}

func validKey(key string) bool {
	b, err := base64.StdEncoding.DecodeString(key)
	return err == nil && len(b) == 16
}

// listHas reports whether one of the comma-separated lists has the word, in whatever case.
func listHas(lists []string, word string) bool {
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(item), word) {
				return true
			}
		}
	}
	return false
}

// offersDeflate reports whether one of the offered extensions is compression as it is done here: each message on its
// own, which every client can do, and with the full window, so that an offer for a smaller one is passed over.
func offersDeflate(lists []string) bool {
	for _, list := range lists {
		for offer := range strings.SplitSeq(list, ",") {
			name, params, _ := strings.Cut(offer, ";")
			if strings.EqualFold(strings.TrimSpace(name), deflateName) && servableDeflate(params) {
				return true
			}
		}
	}
	return false
}

func servableDeflate(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "", "server_no_context_takeover", "client_no_context_takeover", "client_max_window_bits":
		case "server_max_window_bits":
			if value != "15" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// AcceptKey is the proof that a server has understood the client's key.
func AcceptKey(key string) string {
	sum := sha1.Sum([]byte(key + acceptSalt))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Answer is what a server agrees to.
type Answer struct {
	Key         string // the client's
	Deflate     bool
	NoMasking   bool
	Subprotocol string   // empty is none
	Headers     []string // lines, each with its line end
}

// Append appends the response that opens the WebSocket.
func (a *Answer) Append(dst []byte) []byte {
	dst = append(dst, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "...)
	dst = append(dst, AcceptKey(a.Key)...)
	if a.Deflate {
		dst = append(dst, "\r\nSec-WebSocket-Extensions: "+deflateAnswer...)
	}
	if a.NoMasking {
		dst = append(dst, "\r\n"+headerNoMasking+": true"...)
	}
	if a.Subprotocol != "" {
		dst = append(append(dst, "\r\nSec-Websocket-Protocol: "...), a.Subprotocol...)
	}
	dst = append(dst, "\r\n"...)
	for _, line := range a.Headers {
		dst = append(dst, line...)
	}
	return append(dst, "\r\n"...)
}

// HeaderLines makes lines for Answer of configured headers, in the order of their names.
func HeaderLines(headers map[string]string) []string {
	lines := make([]string, 0, len(headers))
	for name, value := range headers {
		lines = append(lines, name+": "+value+"\r\n")
	}
	slices.Sort(lines)
	return lines
}

// AppendRefusal appends the response to a request that does not open a WebSocket. With last the connection ends after
// it. req tells what the client expects: no body for HEAD, the old version for the old version.
func AppendRefusal(dst []byte, req *http.Request, status int, now time.Time, last bool) []byte {
	proto := "HTTP/1.1"
	if !req.ProtoAtLeast(1, 1) {
		proto, last = "HTTP/1.0", false // it ends anyway
	}
	text := http.StatusText(status) + "\n"
	dst = fmt.Appendf(dst, "%s %d %s", proto, status, text[:len(text)-1])
	dst = append(dst, "\r\nContent-Type: text/plain; charset=utf-8\r\n"+headerVersion+": "+version+"\r\nX-Content-Type-Options: nosniff\r\nDate: "...)
	dst = now.UTC().AppendFormat(dst, http.TimeFormat)
	dst = append(dst, "\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	if last {
		dst = append(dst, "\r\nConnection: close"...)
	}
	dst = append(dst, "\r\n\r\n"...)
	if req.Method == http.MethodHead {
		return dst
	}
	return append(dst, text...)
}
