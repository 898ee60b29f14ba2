package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"godwit/protocol/jsapi"
)

// recover opens the streams found in the account's directory. One that cannot be opened is reported, and its files are
// left as they are.
func (a *Account) recover() error {
	fsys := a.service.opts.FS
	list, err := fsys.ReadDir(a.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if !e.Dir {
			continue
		}
		dir := filepath.Join(a.dir, e.Name)
		switch {
		case strings.HasPrefix(e.Name, newPrefix), strings.HasPrefix(e.Name, deletedPrefix):
			if err := fsys.RemoveAll(dir); err != nil {
				return err
			}
		case strings.HasPrefix(e.Name, asidePrefix):
			a.service.problem(Problem{Account: a.name, Text: dir + " belongs to no stream"})
		default:
			if err := a.recoverStream(dir); err != nil {
				a.service.problem(Problem{Account: a.name, Stream: e.Name, Text: err.Error()})
			}
		}
	}
	return nil
}

func (a *Account) recoverStream(dir string) error {
	m, why, err := readMeta(a.service.opts.FS, dir)
	if err != nil {
		return fmt.Errorf("%s is not used: %w", dir, err)
	}
	if why != nil {
		a.service.opts.Warnf("JetStream: %s is made again from its copy: %v", filepath.Join(dir, metaFile), why)
		if err := writeMeta(a.service.opts.FS, dir, m); err != nil {
			return fmt.Errorf("%s is not used: %w", dir, err)
		}
	}
	if m.Account != a.name || fileName(m.Config.Name) != filepath.Base(dir) {
		return fmt.Errorf("%s is not used: it holds stream %s of account %s", dir, m.Config.Name, m.Account)
	}
	s, err := a.open(m, dir, nil)
	if err != nil {
		return fmt.Errorf("%s is not used: %w", dir, err)
	}
	took, batches, cut := s.set.Replayed()
	msgs, _, consumers := s.set.Stats()
	a.service.opts.Logf("JetStream: restored %d messages and %d consumers of stream %s > %s in %v (%d batches replayed, %d bytes cut)",
		msgs, consumers, a.name, s.name, took, batches, cut)
	return nil
}

// checkConsumers says whether the consumers that exist keep to the limits of a new configuration.
func (s *Stream) checkConsumers(cfg *jsapi.StreamConfig) *jsapi.Error {
	l := cfg.ConsumerLimits
	if l == s.Config().ConsumerLimits || l == (jsapi.ConsumerLimits{}) {
		return nil
	}
	var bad []string
	for offset := 0; ; {
		list, total := s.set.Consumers(offset, jsapi.ListPage)
		for _, c := range list {
			if l.MaxAckPending > 0 && (c.Config.MaxAckPending > l.MaxAckPending || c.Config.MaxAckPending < 0) ||
				l.InactiveThreshold > 0 && c.Config.InactiveThreshold > l.InactiveThreshold {
				bad = append(bad, c.Name)
			}
		}
		if offset += len(list); offset >= total || len(list) == 0 {
			break
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad)
	return jsapi.Err(jsapi.ErrStreamUpdate, "err", "change to limits violates consumers: "+strings.Join(bad, ", "))
}
