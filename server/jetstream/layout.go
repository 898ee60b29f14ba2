package jetstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// On disk, below the store directory:
//
//	jetstream/<account>/streams/<stream>/stream.json   what the stream is; see meta
//	jetstream/<account>/streams/<stream>/0/            the log of its partition
//	jetstream/<account>/streams/~new.<id>              a stream being made; removed at start
//	jetstream/<account>/streams/~deleted.<id>          one being deleted; removed at start
//	jetstream/<account>/streams/~aside.<id>            files that belonged to no stream when their name was needed
const (
	metaFile      = "stream.json"
	metaCopy      = "stream.copy.json" // the same, for when that one is damaged
	newPrefix     = "~new."
	deletedPrefix = "~deleted."
	asidePrefix   = "~aside."
	// LockName is a file in the directory jetstream of a store. Whoever works on the store has it locked.
	LockName   = "~lock"
	metaMax    = 4 << 20 // bytes
	metaFormat = 1
)

var errBadMeta = errors.New("stream.json is damaged")

// meta is what stream.json holds. The configuration in it is for people and for the storage type: the log has the one in
// force. The file is the JSON, a line end, and the SHA-256 of the JSON in hexadecimal.
type meta struct {
	Format  int                `json:"format"`
	Account string             `json:"account"`
	UID     string             `json:"uid"` // tells this stream from others that had its name
	Created time.Time          `json:"created"`
	Config  jsapi.StreamConfig `json:"config"`
	// First is the configuration with which the log begins, nil if that is Config. Without a checkpoint the log is applied from its
	// beginning: with a later configuration it would come to another state.
	First *jsapi.StreamConfig `json:"first_config,omitempty"`
}

// first is the configuration with which the log begins.
func (m *meta) first() jsapi.StreamConfig {
	if m.First != nil {
		return *m.First
	}
	return m.Config
}

func (m *meta) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	b = append(b, '\n')
	return append(hex.AppendEncode(b, sum[:]), '\n'), nil
}

func decodeMeta(b []byte) (*meta, error) {
	text, sum, _ := strings.Cut(string(b), "\n")
	want := sha256.Sum256([]byte(text))
	if strings.TrimSpace(sum) != hex.EncodeToString(want[:]) {
		return nil, errBadMeta
	}
	m := &meta{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("stream.json: %w", err)
	}
	if m.Format != metaFormat {
		return nil, fmt.Errorf("stream.json has format %d, this version knows %d", m.Format, metaFormat)
	}
	return m, nil
}

// key identifies a partition's log.
func (m *meta) key(partition int) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "godwit partition\x00%s\x00%s\x00%s\x00%d", m.Account, m.Config.Name, m.UID, partition))
}

// writeMeta replaces a stream's meta file.
func writeMeta(fsys vfs.FS, dir string, m *meta) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	for _, name := range []string{metaCopy, metaFile} {
		if err := vfs.WriteFileSync(fsys, filepath.Join(dir, name), b); err != nil {
			return err
		}
	}
	return nil
}

// readMeta reads a stream's meta file, or its copy if that one is missing or damaged; why says so then.
func readMeta(fsys vfs.FS, dir string) (m *meta, why, err error) {
	for i, name := range []string{metaFile, metaCopy} {
		var b []byte
		if b, err = vfs.ReadFile(fsys, filepath.Join(dir, name), metaMax); err == nil {
			m, err = decodeMeta(b)
		}
		if err == nil {
			return m, why, nil
		}
		if i == 0 {
			why = err
		}
	}
	return nil, why, why // the first says more
}

func (s *Service) accountDir(account string) string {
	return filepath.Join(s.opts.StoreDir, "jetstream", fileName(account), "streams")
}

// fileName turns a name into one of a file: bytes that have a meaning in paths are written in hexadecimal, and what
// becomes too long is replaced by its hash.
func fileName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ', c == '/', c == '\\', c == '%', c == '.', c == ':', c == 0x7f, c == '~' && i == 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() == 0 || b.Len() > 240 {
		sum := sha256.Sum256([]byte(name))
		return "%h" + hex.EncodeToString(sum[:])
	}
	return b.String()
}
