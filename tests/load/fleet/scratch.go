package fleet

import (
	"errors"
	"os"
	"sync"
)

// ErrInterrupted is returned once Scratch.Close has been called.
var ErrInterrupted = errors.New("interrupted")

// Scratch is the directory of one call of the tool, with the clusters that run in it: what must
// be cleaned up when the tool is interrupted. Its methods may be called from any goroutine.
type Scratch struct {
	dir  string
	keep bool

	mu       sync.Mutex
	closed   bool
	clusters map[*Cluster]bool
}

// NewScratch makes a directory below base. With keep, what is in it stays.
func NewScratch(base string, keep bool) (*Scratch, error) {
	dir, err := os.MkdirTemp(base, "godwit-load-")
	return &Scratch{dir: dir, keep: keep, clusters: map[*Cluster]bool{}}, err
}

// Cluster prepares servers in a fresh directory; o.Dir is set here. The returned function stops
// them and removes the directory.
func (s *Scratch) Cluster(o Options) (c *Cluster, remove func(), err error) {
	if o.Dir, err = os.MkdirTemp(s.dir, "run-"); err != nil {
		return nil, nil, err
	}
	if c, err = New(o); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrInterrupted
	}
	s.clusters[c] = true
	return c, func() {
		c.Stop()
		s.mu.Lock()
		delete(s.clusters, c)
		s.mu.Unlock()
		if !s.keep {
			os.RemoveAll(o.Dir)
		}
	}, nil
}

// Close kills what still runs and removes the directory.
func (s *Scratch) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.clusters {
		c.Kill()
	}
	s.mu.Unlock()
	if !s.keep {
		os.RemoveAll(s.dir)
	}
}
