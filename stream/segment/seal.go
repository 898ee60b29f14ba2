package segment

// Active returns the size of the segment that is appended to, and how many segments there are. Only the owner calls it.
func (l *Log) Active() (bytes int64, segments int) {
	if l.active != nil {
		bytes = l.active.size.Load()
	}
	return bytes, len(*l.segs.Load())
}

// Seal ends the segment that is appended to, whatever its size: what comes next goes to a new one. So its disk space can
// be given back once it holds nothing that is needed. time is the leader's clock, in ns. Only the owner calls it.
func (l *Log) Seal(time int64) {
	l.appending.Lock()
	defer l.appending.Unlock()
	if s := l.active; s != nil && !s.empty() {
		l.roll(&Head{Base: l.next.Load(), Index: l.last.Load() + 1, Time: time})
	}
}
