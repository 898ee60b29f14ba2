package stream

import "bytes"

// headerLines calls f for each line of a stored block but the first and the empty last one, with its end; a line without
// colon has no name.
func headerLines(block []byte, f func(name, value, line []byte) bool) {
	n := bytes.IndexByte(block, '\n')
	for block = block[n+1:]; n >= 0 && len(block) > 0; {
		end := bytes.IndexByte(block, '\n') + 1
		if end == 0 {
			end = len(block)
		}
		line := block[:end]
		block = block[end:]
		text := bytes.TrimRight(line, "\r\n")
		if len(text) == 0 {
			continue
		}
		name, value, found := bytes.Cut(text, []byte(":"))
		if !found {
			name, value = nil, nil
		}
		if !f(name, bytes.Trim(value, " \t"), line) {
			return
		}
	}
}

// headerValue returns the first value of a name in a stored block, nil if there is none.
func headerValue(block []byte, name string) (value []byte) {
	headerLines(block, func(n, v, _ []byte) bool {
		if string(n) == name && len(v) > 0 {
			value = v
			return false
		}
		return true
	})
	return value
}

// hasHeader says whether a stored block names a header, even with an empty value.
func hasHeader(block []byte, name string) (found bool) {
	headerLines(block, func(n, _, _ []byte) bool {
		found = string(n) == name
		return !found
	})
	return found
}

// appendLine appends a line of a block, ended as lines have to be.
func appendLine(dst, line []byte) []byte {
	dst = append(dst, line...)
	if line[len(line)-1] != '\n' {
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// setHeader appends block to dst with one value for a name: at the first place of the name, or as the last line.
func setHeader(dst, block []byte, name, value string) []byte {
	dst = append(append(dst, headerVersion...), "\r\n"...)
	set := func() { dst = append(append(append(append(dst, name...), ": "...), value...), "\r\n"...) }
	done := false
	headerLines(block, func(n, _, line []byte) bool {
		switch {
		case string(n) != name:
			dst = appendLine(dst, line)
		case !done:
			done = true
			set()
		}
		return true
	})
	if !done {
		set()
	}
	return append(dst, "\r\n"...)
}

// dropHeader appends block to dst without the lines of a name.
func dropHeader(dst, block []byte, name string) []byte {
	dst = append(append(dst, headerVersion...), "\r\n"...)
	headerLines(block, func(n, _, line []byte) bool {
		if string(n) != name {
			dst = appendLine(dst, line)
		}
		return true
	})
	return append(dst, "\r\n"...)
}
