// Package config makes the options of a server from a configuration file and a command line, as nats-server
// reads both: the same keys, the same words about mistakes, the same exit statuses.
//
// A file is parsed by package conf and decoded by one block of declarations per file here; the reference
// page of all settings comes from the same declarations.
package config

import (
	"errors"
	"strings"

	"godwit/conf"
	"godwit/server/options"
)

// Errors gathers what is wrong with a file. Its text has one line for each warning, then one for each
// error, each with a line feed.
type Errors struct {
	Warnings []*conf.Problem
	Problems []*conf.Problem
}

// Error returns all lines.
func (e *Errors) Error() string {
	var b strings.Builder
	for _, list := range [][]*conf.Problem{e.Warnings, e.Problems} {
		for _, p := range list {
			b.WriteString(p.Error())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Load reads the file at path over the defaults. Warnings are lines to show; the file is used in spite of
// them. An error is of the language, of the operating system, or an *Errors.
func Load(path string) (o *options.Options, warnings []string, err error) {
	o = options.Defaults()
	warnings, err = loadInto(conf.Loader{}, path, o)
	if err != nil {
		return nil, nil, err
	}
	return o, warnings, nil
}

// loadInto decodes the file at path into o, which holds the defaults.
func loadInto(loader conf.Loader, path string, o *options.Options) (warnings []string, err error) {
	doc, err := loader.File(path)
	if err != nil {
		return nil, err
	}
	return decodeInto(doc, path, o)
}

func decodeInto(doc *conf.Document, path string, o *options.Options) (warnings []string, err error) {
	o.ConfigFile, o.ConfigDigest = path, doc.Digest
	d := &conf.Decoder{}
	if len(doc.Root.Map.Members) == 0 {
		return []string{path + ": config has no values or is empty"}, nil
	}
	b := &build{Options: o, decoder: d}
	topBlock().Decode(d, doc.Root, b)
	b.finish()
	if d.Failed() {
		return nil, &Errors{Warnings: d.Warnings(), Problems: d.Errors()}
	}
	for _, w := range d.Warnings() {
		warnings = append(warnings, w.Error())
	}
	return warnings, nil
}

// ErrWarnings is what CheckFile finds when a file would be used, but not without warnings.
var ErrWarnings = errors.New("configuration has warnings")

// warningsError has the warnings as its text.
type warningsError struct{ lines []string }

func (e *warningsError) Error() string { return strings.Join(e.lines, "\n") + "\n" }

func (e *warningsError) Unwrap() error { return ErrWarnings }

// CheckFile reads the file at path as Load does and returns the words about a good one, behind the name of
// the program. A file with warnings fails, with ErrWarnings.
func CheckFile(path string) (success string, err error) {
	o, warnings, err := Load(path)
	if err != nil {
		return "", err
	}
	if len(warnings) > 0 {
		return "", &warningsError{warnings}
	}
	return "configuration file " + path + " is valid (" + o.ConfigDigest + ")", nil
}
