package revocation

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"
	"golang.org/x/crypto/ocsp"

	"godwit/server/options"
)

const (
	// CacheFile is the name of the file in the directory of a cache.
	CacheFile = "cache.json"
	// cacheMost bounds how many answers are kept. They have one to four thousand bytes each.
	cacheMost = 10_000
	// cacheFileMost bounds what is read of the file.
	cacheFileMost = 256 << 20
)

// Cache keeps answers about the certificates of others, over restarts, too. Any goroutine may use it, and a nil one, which keeps
// nothing.
type Cache struct {
	o            options.OCSPCache
	log          Logger
	hits, misses atomic.Int64
	stop         chan struct{}
	done         chan struct{}

	mu struct {
		sync.Mutex
		entries map[string]*entry // by fingerprint
		dirty   bool
	}
}

// entry is an answer as the file has it.
type entry struct {
	Subject string    `json:"subject,omitempty"`
	Cached  time.Time `json:"cached_at"`
	Status  string    `json:"resp_status"`
	Expires time.Time `json:"resp_expires,omitzero"`
	Raw     []byte    `json:"resp"` // S2 stream of the DER
}

// NewCache reads what was kept; a file that cannot be read is passed over. Close saves what there is.
func NewCache(o options.OCSPCache, log Logger) *Cache {
	if !o.Local {
		return nil
	}
	c := &Cache{o: o, log: log, stop: make(chan struct{}), done: make(chan struct{})}
	c.mu.entries = map[string]*entry{}
	if err := c.load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warnf("OCSP: what was kept in %s cannot be used: %v", c.path(), err)
	}
	go c.run()
	return c
}

func (c *Cache) path() string { return filepath.Join(c.o.LocalStore, CacheFile) }

func (c *Cache) load() error {
	f, err := os.Open(c.path())
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, cacheFileMost+1))
	if err != nil {
		return err
	}
	if len(b) > cacheFileMost {
		return fmt.Errorf("it has more than %d bytes", cacheFileMost)
	}
	entries := map[string]*entry{}
	if err := json.Unmarshal(b, &entries); err != nil {
		return err
	}
	for name, e := range entries {
		if e != nil && len(c.mu.entries) < cacheMost {
			c.mu.entries[name] = e
		}
	}
	return nil
}

func (c *Cache) run() {
	defer close(c.done)
	t := time.NewTicker(c.o.SaveInterval)
	defer t.Stop()
	for {
		select {
		case <-c.stop:
			c.save()
			return
		case <-t.C:
			c.save()
		}
	}
}

// Close saves what there is. It is called once.
func (c *Cache) Close() {
	if c != nil {
		close(c.stop)
		<-c.done
	}
}

func (c *Cache) save() {
	c.mu.Lock()
	c.expireLocked()
	if !c.mu.dirty {
		c.mu.Unlock()
		return
	}
	b, err := json.Marshal(c.mu.entries)
	c.mu.dirty = false
	c.mu.Unlock()
	if err == nil {
		if err = os.MkdirAll(c.o.LocalStore, stapleDirMode); err == nil {
			err = replaceFile(c.path(), b)
		}
	}
	if err != nil {
		c.log.Errorf("OCSP: %s cannot be saved: %v", c.path(), err)
		c.mu.Lock()
		c.mu.dirty = true
		c.mu.Unlock()
	}
}

// expireLocked removes what does not count any more.
func (c *Cache) expireLocked() {
	now := time.Now()
	for name, e := range c.mu.entries {
		if e.Expires.Before(now) && !c.lasting(e) {
			delete(c.mu.entries, name)
			c.mu.dirty = true
		}
	}
}

// lasting reports whether an answer is kept although it does not count any more.
func (c *Cache) lasting(e *entry) bool {
	return c.o.PreserveRevoked && e.Status == statusText(ocsp.Revoked)
}

// get returns the answer about a certificate, nil if there is none; it may not count any more.
func (c *Cache) get(cert, issuer *x509.Certificate) *Answer {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	e := c.mu.entries[Fingerprint(cert)]
	c.mu.Unlock()
	if e == nil {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(s2.NewReader(bytes.NewReader(e.Raw)), answerMost))
	if err != nil {
		return nil
	}
	a, err := parse(raw, cert, issuer)
	if err != nil {
		return nil
	}
	return a
}

func (c *Cache) put(cert *x509.Certificate, a *Answer, ttl time.Duration) {
	if c == nil {
		return
	}
	var packed bytes.Buffer
	w := s2.NewWriter(&packed, s2.WriterConcurrency(1))
	w.Write(a.Raw) // to memory, which takes all
	w.Close()
	e := &entry{Subject: cert.Subject.String(), Cached: time.Now().UTC(), Status: statusText(a.Status), Expires: a.until(ttl).UTC(), Raw: packed.Bytes()}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := Fingerprint(cert)
	if _, ok := c.mu.entries[name]; !ok && len(c.mu.entries) >= cacheMost {
		c.expireLocked()
		for other, e := range c.mu.entries {
			if len(c.mu.entries) < cacheMost {
				break
			}
			if !c.lasting(e) {
				delete(c.mu.entries, other)
			}
		}
		if len(c.mu.entries) >= cacheMost {
			return
		}
	}
	c.mu.entries[name] = e
	c.mu.dirty = true
}

func (c *Cache) hit() {
	if c != nil {
		c.hits.Add(1)
	}
}

func (c *Cache) miss() {
	if c != nil {
		c.misses.Add(1)
	}
}

// CacheStats counts what a cache holds, and how often it could answer.
type CacheStats struct {
	Hits, Misses           int64
	Good, Revoked, Unknown int64
}

// Stats counts; ok is false without a cache.
func (c *Cache) Stats() (st CacheStats, ok bool) {
	if c == nil {
		return st, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Hits, st.Misses = c.hits.Load(), c.misses.Load()
	for _, e := range c.mu.entries {
		switch e.Status {
		case "good":
			st.Good++
		case "revoked":
			st.Revoked++
		default:
			st.Unknown++
		}
	}
	return st, true
}
