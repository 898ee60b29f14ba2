package conf

import "time"

// Str sets a string.
func Str[T any](at func(*T) *string) Setter[T] {
	return func(d *Decoder, _ string, v *Value, into *T) {
		if s, ok := d.String(v); ok {
			*at(into) = s
		}
	}
}

// Flag sets a boolean.
func Flag[T any](at func(*T) *bool) Setter[T] {
	return func(d *Decoder, _ string, v *Value, into *T) {
		if b, ok := d.Bool(v); ok {
			*at(into) = b
		}
	}
}

// Number sets an integer. Numbers that N can not hold are errors.
func Number[T any, N ~int | ~int32 | ~int64](at func(*T) *N) Setter[T] {
	return func(d *Decoder, key string, v *Value, into *T) {
		n, ok := d.Int(v)
		if !ok {
			return
		}
		if int64(N(n)) != n {
			d.Errorf(v, "%s value is too big", key)
			return
		}
		*at(into) = N(n)
	}
}

// Span sets a duration; messages call the field name, or as its key was written if that is empty. A plain
// number is seconds, with a warning.
func Span[T any](name string, at func(*T) *time.Duration) Setter[T] {
	return func(d *Decoder, key string, v *Value, into *T) {
		name := name
		if name == "" {
			name = key
		}
		if t, ok := d.Duration(v, name); ok {
			*at(into) = t
		}
	}
}

// Duration returns the duration of v, which messages call name. A plain number is seconds, with a warning.
func (d *Decoder) Duration(v *Value, name string) (t time.Duration, ok bool) {
	if v.Kind != String {
		d.Misused(v, name, "%s should be converted to a duration", name)
		n, ok := d.Int(v)
		if ok && (n > maxSeconds || n < -maxSeconds) {
			d.Errorf(v, "%s value is too big", name)
			return 0, false
		}
		return time.Duration(n) * time.Second, ok
	}
	t, err := time.ParseDuration(v.Text)
	if err != nil {
		d.Errorf(v, "error parsing %s: %v", name, err)
		return 0, false
	}
	return t, true
}

// maxSeconds is the longest duration in seconds.
const maxSeconds = int64(1<<63-1) / int64(time.Second)
