package process

import "strings"

// redacted stands for what isn't shown.
const redacted = "[REDACTED]"

// span is a part of an argument: the bytes from start to end.
type span struct{ arg, start, end int }

// secretFlags are the flags whose values aren't shown.
func secretFlags() []string { return []string{"user", "pass", "auth"} }

// RedactArgs returns args as they may be shown: values of --user, --pass and --auth, and what stands before the
// "@" of URLs, read "[REDACTED]". args is not changed.
func RedactArgs(args []string) []string {
	shown := append([]string(nil), args...)
	spans := secrets(args)
	for i := len(spans) - 1; i >= 0; i-- { // from the back, so that earlier positions stay right
		s := spans[i]
		shown[s.arg] = shown[s.arg][:s.start] + redacted + shown[s.arg][s.end:]
	}
	return shown
}

// secrets finds what isn't to be shown, in order. Empty parts are left out.
func secrets(args []string) []span {
	var spans []span
	for i := 1; i < len(args); i++ {
		arg := args[i]
		name, value, hasValue := strings.Cut(arg, "=")
		switch {
		case !isSecretFlag(name):
			spans = append(spans, userInfos(i, arg)...)
		case hasValue:
			if value != "" {
				spans = append(spans, span{i, len(name) + 1, len(arg)})
			}
		case i+1 < len(args):
			i++
			if args[i] != "" {
				spans = append(spans, span{i, 0, len(args[i])})
			}
		}
	}
	return spans
}

func isSecretFlag(arg string) bool {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return false
	}
	name = strings.TrimPrefix(name, "-")
	for _, f := range secretFlags() {
		if name == f {
			return true
		}
	}
	return false
}

// userInfos finds user and password in the URLs of an argument, which may be a list.
func userInfos(arg int, s string) []span {
	var spans []span
	for from := 0; ; {
		i := strings.Index(s[from:], "://")
		if i < 0 {
			return spans
		}
		start := from + i + len("://")
		end := start + strings.IndexAny(s[start:]+",", ",/?# ")
		if at := strings.LastIndexByte(s[start:end], '@'); at > 0 {
			spans = append(spans, span{arg, start, start + at})
		}
		from = end
	}
}
