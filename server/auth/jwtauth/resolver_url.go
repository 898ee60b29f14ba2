package jwtauth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/options"
	"godwit/server/tlsconf"
)

// maxIdleConns is how many connections to the account server are kept open.
const maxIdleConns = 10

// urlResolver gets JWTs from an HTTP server. What it gets lives on in the Manager only.
type urlResolver struct {
	prefix  string
	timeout time.Duration
	client  *http.Client
}

// newURLResolver makes a resolver of the URL prefix to which an account key is appended, and asks it once for the empty
// key, to find mistakes early. t may be nil.
func newURLResolver(prefix string, t *options.TLS, timeout time.Duration) (*urlResolver, error) {
	transport := &http.Transport{MaxIdleConns: maxIdleConns, MaxIdleConnsPerHost: maxIdleConns, IdleConnTimeout: 30 * time.Second}
	if t != nil {
		cfg, err := tlsconf.Client(t)
		if err != nil {
			return nil, fmt.Errorf("resolver_tls: %w", err)
		}
		transport.TLSClientConfig = cfg
	}
	r := &urlResolver{prefix: prefix, timeout: timeout, client: &http.Client{Timeout: timeout, Transport: transport}}
	if _, err := r.get(context.Background(), ""); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *urlResolver) Kind() options.ResolverKind { return options.ResolverURL }
func (r *urlResolver) Timeout() time.Duration     { return r.timeout }
func (r *urlResolver) Keep(string, string) error  { return nil }
func (r *urlResolver) Close()                     { r.client.CloseIdleConnections() }

func (r *urlResolver) Fetch(ctx context.Context, account string) (string, error) {
	token, err := r.get(ctx, account)
	if err == nil && token == "" {
		err = ErrNoAccount
	}
	return token, err
}

func (r *urlResolver) get(ctx context.Context, account string) (string, error) {
	url := r.prefix + account
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("could not fetch <%q>: %w", url, err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("could not fetch <%q>: %w", url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", &statusError{url, resp.StatusCode, resp.Status}
	}
	// One byte more than a JWT may have tells that it is too long.
	body, err := io.ReadAll(io.LimitReader(resp.Body, jwt.MaxTokenSize+1))
	if err != nil {
		return "", fmt.Errorf("could not fetch <%q>: %w", url, err)
	}
	if len(body) > jwt.MaxTokenSize {
		return "", fmt.Errorf("could not fetch <%q>: %w", url, jwt.ErrTokenTooLarge)
	}
	return strings.TrimSpace(string(body)), nil
}

// statusError is an answer other than a JWT. That there is none of an account is ErrNoAccount.
type statusError struct {
	url    string
	code   int
	status string
}

func (e *statusError) Error() string { return fmt.Sprintf("could not fetch <%q>: %s", e.url, e.status) }

// Is implements the convention of package errors.
func (e *statusError) Is(target error) bool {
	return target == ErrNoAccount && e.code == http.StatusNotFound
}
