package conf

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// Bounds of what a configuration may nest.
const (
	maxDepth    = 1000 // brackets within brackets
	maxIncludes = 64   // files within files
)

// Loader reads configurations. The zero value uses the operating system's files and environment.
type Loader struct {
	ReadFile  func(path string) ([]byte, error)
	LookupEnv func(name string) (string, bool)
}

// Document is a parsed configuration.
type Document struct {
	Root   *Value // always of MapKind
	Digest string // "sha256:" and the hex SHA-256 of the values as JSON
}

// File reads and parses the file at path and the files that it includes.
func (l Loader) File(path string) (*Document, error) {
	l = l.withDefaults()
	root, err := l.file(path, nil)
	if err != nil {
		return nil, err
	}
	return document(root)
}

// Text parses text, which positions name by file. Includes are relative to the folder of that name.
func (l Loader) Text(file, text string) (*Document, error) {
	l = l.withDefaults()
	p := newParser(l, file, text)
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	return document(root)
}

func (l Loader) withDefaults() Loader {
	if l.ReadFile == nil {
		l.ReadFile = os.ReadFile
	}
	if l.LookupEnv == nil {
		l.LookupEnv = os.LookupEnv
	}
	return l
}

// file parses the file at path; including names the files that lead to it, outermost first.
func (l Loader) file(path string, including []string) (*Value, error) {
	data, err := l.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := newParser(l, path, string(data))
	p.including = append(including[:len(including):len(including)], filepath.Clean(path))
	return p.parse()
}

func document(root *Value) (*Document, error) {
	digest, err := Digest(root)
	if err != nil {
		return nil, err
	}
	return &Document{Root: root, Digest: digest}, nil
}

// Digest returns the SHA-256 of the value as JSON: keys sorted, Go's escapes, and a line feed behind it.
func Digest(v *Value) (string, error) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v.Any()); err != nil {
		return "", errorOf(ErrValue, "%v", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
