package jwtauth

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

const (
	tokenSuffix   = ".jwt"
	deletedSuffix = ".deleted" // behind tokenSuffix
	partialSuffix = ".partial" // behind tokenSuffix, of a file that is being written
)

// deleteMode is what becomes of the file of a deleted account.
type deleteMode int

const (
	deleteNothing deleteMode = iota
	deleteRename
	deleteRemove
)

// Directory keeps account JWTs in files named <account>.jwt. A file is written beside its place, synced and renamed,
// so that each is whole at any time. Files that are put there by others are found when they are asked for, and
// then listed, too. All methods may be called concurrently.
type Directory struct {
	path   string
	delete deleteMode
	limit  int           // JWTs; 0 is unlimited
	evict  bool          // at the limit the one that was used longest ago goes; otherwise new ones are refused
	ttl    time.Duration // after it was stored a JWT is gone; 0 is never

	unsynced bool // files are not synced; for tests that look at other things

	// mu is held during file operations, so that files and index are the same.
	mu struct {
		sync.Mutex
		index map[string]*list.Element // of *stored, by account
		used  list.List                // of *stored, the one used last at the front
		sum   digest                   // of all
	}
}

// digest is the SHA-256 of a JWT, or those of several put together with exclusive or.
type digest [sha256.Size]byte

func (d *digest) toggle(o digest) {
	for i := range d {
		d[i] ^= o[i]
	}
}

// stored is what is known of a file.
type stored struct {
	account string
	hash    digest
	at      time.Time // when it was written
}

// openDirectory creates the directory if it is missing and reads what is in it.
func openDirectory(r *options.Resolver) (*Directory, error) {
	d := &Directory{path: r.Dir, limit: int(r.Limit)}
	switch {
	case r.Kind == options.ResolverCache:
		d.evict, d.ttl, d.delete = true, r.TTL, deleteRemove
		if d.limit == 0 {
			d.limit = CacheLimit
		}
	case r.AllowDelete && r.HardDelete:
		d.delete = deleteRemove
	case r.AllowDelete:
		d.delete = deleteRename
	}
	d.mu.index = make(map[string]*list.Element)
	d.mu.used.Init()
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return nil, fmt.Errorf("account directory: %w", err)
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("account directory: %w", err)
	}
	var found []*stored
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tokenSuffix+partialSuffix) {
			if err := os.Remove(filepath.Join(d.path, e.Name())); err != nil {
				return nil, fmt.Errorf("account directory: %w", err)
			}
			continue
		}
		s, err := d.inspect(e)
		if err != nil {
			return nil, fmt.Errorf("account directory: %w", err)
		}
		if s != nil {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *stored) int { return a.at.Compare(b.at) })
	for _, s := range found {
		d.put(s)
	}
	for d.evict && len(d.mu.index) > d.limit {
		if err := d.evictOldest(); err != nil {
			return nil, fmt.Errorf("account directory: %w", err)
		}
	}
	return d, nil
}

// inspect returns what is known of a file, nil if it is not a JWT's.
func (d *Directory) inspect(e fs.DirEntry) (*stored, error) {
	account, ok := strings.CutSuffix(e.Name(), tokenSuffix)
	if !ok || !nkeys.IsValidPublicAccountKey(account) || !e.Type().IsRegular() {
		return nil, nil
	}
	token, at, err := d.read(account)
	if err != nil || token == "" {
		return nil, err
	}
	return &stored{account, sha256.Sum256([]byte(token)), at}, nil
}

// Load returns the JWT of the account, or ErrNoAccount.
func (d *Directory) Load(account string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loadLocked(account)
}

func (d *Directory) loadLocked(account string) (string, error) {
	if !nkeys.IsValidPublicAccountKey(account) {
		return "", ErrNoAccount
	}
	token, at, err := d.read(account)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && token == "":
		return "", ErrNoAccount
	case err != nil:
		return "", err
	}
	hash := digest(sha256.Sum256([]byte(token)))
	e := d.mu.index[account]
	switch {
	case e == nil: // put there by somebody else
		d.put(&stored{account, hash, at})
		for d.evict && len(d.mu.index) > d.limit {
			if err := d.evictOldest(); err != nil {
				return "", err
			}
		}
		return token, nil
	case d.ttl > 0 && time.Since(e.Value.(*stored).at) >= d.ttl:
		d.drop(account)
		return "", errors.Join(ErrNoAccount, os.Remove(d.file(account)))
	case hash != e.Value.(*stored).hash:
		d.put(&stored{account, hash, at})
		return token, nil
	}
	d.mu.used.MoveToFront(e)
	return token, nil
}

// Has reports whether the account is listed.
func (d *Directory) Has(account string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.index[account] != nil
}

// Save stores the JWT of the account in place of any it has. ErrStoreFull means that there is no room.
func (d *Directory) Save(account, token string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.saveLocked(account, token)
}

// SaveNewer stores the JWT unless the account has one that was issued later, or the same.
func (d *Directory) SaveNewer(account, token string) (saved bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := d.loadLocked(account)
	if err == nil && (old == token || issuedAt(old) > issuedAt(token)) {
		return false, nil
	}
	if err := d.saveLocked(account, token); err != nil {
		return false, err
	}
	return true, nil
}

// issuedAt is the time of an account JWT, the lowest number for what is none.
func issuedAt(token string) int64 {
	c, err := decodeAccount(token)
	if err != nil {
		return -1 << 63
	}
	return c.IssuedAt
}

func (d *Directory) saveLocked(account, token string) error {
	if !nkeys.IsValidPublicAccountKey(account) {
		return ErrSubject
	}
	token = strings.TrimSpace(token)
	if token == "" || len(token) > jwt.MaxTokenSize {
		return ErrInvalidAccount
	}
	if d.mu.index[account] == nil && d.limit > 0 && len(d.mu.index) >= d.limit {
		if !d.evict {
			return ErrStoreFull
		}
		if err := d.evictOldest(); err != nil {
			return err
		}
	}
	if err := d.write(account, token); err != nil {
		return fmt.Errorf("store account %s: %w", account, err)
	}
	d.put(&stored{account, sha256.Sum256([]byte(token)), time.Now()})
	return nil
}

// Delete deletes the JWT of the account, if there is one, in the way that is configured.
func (d *Directory) Delete(account string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !nkeys.IsValidPublicAccountKey(account) {
		return ErrNoAccount
	}
	var err error
	switch d.delete {
	case deleteNothing:
		return errDeleteOff
	case deleteRename:
		err = os.Rename(d.file(account), d.file(account)+deletedSuffix)
	case deleteRemove:
		err = os.Remove(d.file(account))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete account %s: %w", account, err)
	}
	d.drop(account)
	return d.syncPath()
}

// Accounts lists the accounts in order.
func (d *Directory) Accounts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.mu.index))
}

// Hash is the exclusive or of the SHA-256 of every JWT that is listed.
func (d *Directory) Hash() [sha256.Size]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.sum
}

// put lists a JWT as the one used last.
func (d *Directory) put(s *stored) {
	d.drop(s.account)
	d.mu.index[s.account] = d.mu.used.PushFront(s)
	d.mu.sum.toggle(s.hash)
}

// drop takes a JWT off the list.
func (d *Directory) drop(account string) {
	if e := d.mu.index[account]; e != nil {
		d.mu.sum.toggle(e.Value.(*stored).hash)
		d.mu.used.Remove(e)
		delete(d.mu.index, account)
	}
}

// evictOldest removes the JWT that was used longest ago.
func (d *Directory) evictOldest() error {
	account := d.mu.used.Back().Value.(*stored).account
	d.drop(account)
	if err := os.Remove(d.file(account)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *Directory) file(account string) string { return filepath.Join(d.path, account+tokenSuffix) }

// read returns a file's JWT and when it was written. Longer files than a JWT may be are an error.
func (d *Directory) read(account string) (token string, at time.Time, err error) {
	info, err := os.Stat(d.file(account))
	if err != nil {
		return "", time.Time{}, err
	}
	if info.Size() > 2*jwt.MaxTokenSize {
		return "", time.Time{}, fmt.Errorf("%s: %w", d.file(account), jwt.ErrTokenTooLarge)
	}
	data, err := os.ReadFile(d.file(account))
	return strings.TrimSpace(string(data)), info.ModTime(), err
}

// write puts a JWT in its place, all or nothing, even if the machine stops in between.
func (d *Directory) write(account, token string) error {
	partial := d.file(account) + partialSuffix
	if err := d.writePartial(partial, token); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	if err := os.Rename(partial, d.file(account)); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return d.syncPath()
}

func (d *Directory) writePartial(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil && !d.unsynced {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncPath makes renames and removals durable.
func (d *Directory) syncPath() error {
	if d.unsynced {
		return nil
	}
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}
