package conf

import "slices"

// variable returns the value that a reference names: of a key written before, in this map or in one around
// it, else of the environment, whose text is a value of the language itself.
func (p *parser) variable(name string) (*Value, error) {
	for _, m := range slices.Backward(p.maps) {
		if v := m.Get(name); v != nil {
			v.used = true
			return v, nil
		}
	}
	if slices.Contains(p.resolving, name) {
		return nil, errorOf(ErrVariable, "variable reference cycle for '%s'", name)
	}
	text, ok := p.loader.LookupEnv(name)
	if !ok {
		return nil, errorOf(ErrVariable, "variable reference for '%s' on line %d can not be found", name, p.line)
	}
	const key = "pk"
	sub := newParser(p.loader, "", key+"="+text)
	sub.resolving = append(p.resolving[:len(p.resolving):len(p.resolving)], name)
	root, err := sub.parse()
	if err == nil && root.Map.Get(key) == nil {
		err = sub.invalid()
	}
	if err != nil {
		return nil, because(ErrVariable, err, "variable reference for '%s' on line %d could not be parsed: ", name, p.line)
	}
	return root.Map.Get(key), nil
}
