package conf

import (
	"fmt"
	"slices"
	"strings"
)

// Section is a block without its types, for the reference page.
type Section struct {
	Name  string
	Doc   string
	Lines []Line
}

// Line is a field without its types.
type Line struct {
	Key     string
	Aliases []string
	Doc     string
	Type    string
	Unit    string
	Default string
	Bounds  string
	Reload  Reload
	Block   string
	Named   bool
	Secret  bool
}

// Is tells whether key, in lower case, is the key or one of its aliases.
func (l Line) Is(key string) bool { return l.Key == key || slices.Contains(l.Aliases, key) }

// Section returns what the reference page says about the block.
func (b *Block[T]) Section() Section {
	s := Section{Name: b.Name, Doc: b.Doc}
	for _, f := range b.fields {
		s.Lines = append(s.Lines, Line{f.Key, f.Aliases, f.Doc, f.Type, f.Unit, f.Default, f.Bounds, f.Reload, f.Block, f.Named, f.Secret})
	}
	return s
}

// Reference renders sections as a page in Markdown.
func Reference(title, intro string, sections []Section) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", title, intro)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.Name, s.Doc)
		b.WriteString("| Key | Value | Default | Reload | Meaning |\n| --- | --- | --- | --- | --- |\n")
		for _, l := range s.Lines {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", l.keys(), l.value(), code(l.Default), l.Reload, cell(l.meaning()))
		}
	}
	return b.String()
}

func (l Line) keys() string {
	out := code(l.Key)
	if len(l.Aliases) > 0 {
		var others []string
		for _, a := range l.Aliases {
			others = append(others, code(a))
		}
		out += " (" + strings.Join(others, ", ") + ")"
	}
	return out
}

func (l Line) value() string {
	out := l.Type
	if l.Unit != "" {
		out += ", " + l.Unit
	}
	if l.Block != "" {
		out += fmt.Sprintf(" → [%s](#%s)", l.Block, anchor(l.Block))
	}
	return cell(out)
}

func (l Line) meaning() string {
	if l.Bounds == "" {
		return l.Doc
	}
	return l.Doc + " Bounds: " + l.Bounds + "."
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// anchor is the fragment that Markdown renderers make of a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, heading)
}
