package config

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// redacted is what secrets are overwritten with.
const redacted = "[REDACTED]"

// RedactArgs overwrites passwords and tokens in a command line, such as os.Args, in place. Where args are
// the process's own, what other programs see of them is overwritten too, if inProcess allows it: nothing may
// use the old strings then. Call it after ParseFlags, which keeps copies.
func RedactArgs(args []string, inProcess bool) {
	var start, end uintptr
	if inProcess {
		start, end = argsMemory()
	}
	hide := func(i int, secret string) {
		// secret may be part of the memory that scrub overwrites: the new text is made before.
		args[i] = strings.Replace(strings.Clone(args[i]), secret, redacted, 1)
		if start != 0 {
			scrub(secret, start, end)
		}
	}
	for i := 0; i < len(args); i++ {
		name, val, joined := strings.Cut(args[i], "=")
		at := i
		if !strings.HasPrefix(name, "-") {
			continue
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
		switch name {
		case "pass", "auth", "routes", "cluster", "cluster_listen":
		default:
			continue
		}
		if !joined {
			if i+1 == len(args) {
				return
			}
			i++
			at, val = i, args[i]
		}
		if name == "pass" || name == "auth" {
			if val != "" {
				hide(at, val)
			}
			continue
		}
		for part := range strings.SplitSeq(val, ",") {
			if secret := passwordIn(part); secret != "" {
				hide(at, secret)
			}
		}
	}
}

// passwordIn returns the part of the text of a URL that is its password.
func passwordIn(s string) string {
	if u, err := url.Parse(strings.TrimSpace(strings.TrimSuffix(s, ":-1"))); err != nil || u.User == nil {
		return ""
	}
	_, rest, _ := strings.Cut(s, "://")
	info, _, _ := strings.Cut(rest, "@")
	_, password, _ := strings.Cut(info, ":")
	return password
}

// scrub overwrites the bytes of s if they are within the memory of the process's arguments. That memory
// belongs to the process and may be written; strings made at compile time are elsewhere.
func scrub(s string, start, end uintptr) {
	p := unsafe.StringData(s)
	if at := uintptr(unsafe.Pointer(p)); at < start || at+uintptr(len(s)) > end {
		return
	}
	b := unsafe.Slice(p, len(s))
	for i := range b {
		b[i] = '*'
	}
}

// argsMemory returns where the process's arguments are, or zeros if the system does not tell.
func argsMemory() (start, end uintptr) {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0
	}
	return parseStat(string(data))
}

// parseStat finds the fields arg_start and arg_end, the 48th and 49th, in a process's stat line.
func parseStat(line string) (start, end uintptr) {
	_, rest, ok := strings.Cut(line, ") ") // behind the name, which may have blanks
	if !ok {
		return 0, 0
	}
	fields := strings.Fields(rest)
	const first = 48 - 3 // the first field here is the third
	if len(fields) <= first+1 {
		return 0, 0
	}
	from, err1 := strconv.ParseUint(fields[first], 10, 64)
	to, err2 := strconv.ParseUint(fields[first+1], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, 0
	}
	return uintptr(from), uintptr(to)
}
