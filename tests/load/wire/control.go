package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

var (
	ErrNoResponders = errors.New("no responders") // the server says nobody listens on that subject
	ErrNoAnswer     = errors.New("no answer in time")
)

// requestTimeout bounds the wait for one answer, unless set otherwise.
const requestTimeout = 5 * time.Second

// APIError is an error that the JetStream API returned.
type APIError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode)
}

// Control is a connection for set-up and inspection requests, off the
// measured path.
type Control struct {
	Timeout time.Duration // for one answer

	conn *Conn
	n    int
}

// NewControl connects to one server.
func NewControl(addr string, login Login, deadline time.Time) (*Control, error) {
	conn, err := Dial(addr, login, deadline)
	if err != nil {
		return nil, err
	}
	if err := conn.Sub("_INBOX.ctl.*", "", 1); err != nil {
		conn.Close()
		return nil, err
	}
	return &Control{Timeout: requestTimeout, conn: conn}, nil
}

// Close closes the connection.
func (c *Control) Close() { c.conn.Close() }

// Request sends one request and returns the reply's payload.
func (c *Control) Request(subject string, payload []byte) ([]byte, error) {
	c.n++
	reply := fmt.Sprintf("_INBOX.ctl.%d", c.n)
	if err := c.conn.Pub(subject, reply, payload); err != nil {
		return nil, err
	}
	c.conn.SetReadDeadline(time.Now().Add(c.Timeout))
	for {
		m, err := c.conn.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, fmt.Errorf("%s: %w", subject, ErrNoAnswer)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", subject, err)
		}
		if string(m.Subject()) != reply {
			continue // a late answer to an earlier, given-up request
		}
		if m.Status() == 503 {
			return nil, ErrNoResponders
		}
		return m.Payload, nil
	}
}

// API calls $JS.API.<call> with a JSON body (may be nil) and decodes the
// answer into out (may be nil).
func (c *Control) API(call string, body, out any) error {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return err
		}
	}
	answer, err := c.Request("$JS.API."+call, payload)
	if err != nil {
		return err
	}
	var failure struct {
		Error *APIError `json:"error"`
	}
	if err := json.Unmarshal(answer, &failure); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	if failure.Error != nil {
		return failure.Error
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// CreateStream creates the stream, waiting for a cluster that is still
// forming.
func (c *Control) CreateStream(cfg StreamConfig) (*StreamInfo, error) {
	var info StreamInfo
	err := retry(30*time.Second, func() error {
		return c.API("STREAM.CREATE."+cfg.Name, cfg, &info)
	})
	return &info, err
}

// Stream returns the state of a stream.
func (c *Control) Stream(name string) (*StreamInfo, error) {
	var info StreamInfo
	err := c.API("STREAM.INFO."+name, nil, &info)
	return &info, err
}

// CreateConsumer creates a consumer named by cfg.Durable.
func (c *Control) CreateConsumer(stream string, cfg ConsumerConfig) error {
	cfg.Name = cfg.Durable
	if cfg.DeliverPolicy == "" {
		cfg.DeliverPolicy = "all"
	}
	cfg.ReplayPolicy = "instant"
	body := struct {
		Stream string         `json:"stream_name"`
		Config ConsumerConfig `json:"config"`
	}{stream, cfg}
	return retry(10*time.Second, func() error {
		return c.API("CONSUMER.CREATE."+stream+"."+cfg.Name, body, nil)
	})
}

// Consumer returns the state of a consumer.
func (c *Control) Consumer(stream, name string) (*ConsumerInfo, error) {
	var info ConsumerInfo
	err := c.API("CONSUMER.INFO."+stream+"."+name, nil, &info)
	return &info, err
}

// retry repeats f while the server is not ready: nobody answers, or it
// answers 503 or "no suitable peers" because the cluster still forms.
func retry(limit time.Duration, f func() error) error {
	end := time.Now().Add(limit)
	for {
		err := f()
		var api *APIError
		notReady := errors.Is(err, ErrNoResponders) || errors.Is(err, ErrNoAnswer) ||
			errors.As(err, &api) && (api.Code == 503 || strings.Contains(api.Description, "no suitable peers"))
		if err == nil || !notReady || time.Now().After(end) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Conn is the connection below, for what the methods of Control do not offer.
func (c *Control) Conn() *Conn { return c.conn }
