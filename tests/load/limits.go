package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"godwit/tests/harness/procfs"
	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// limitsCommand measures what the machine itself can do.
func limitsCommand(args []string) error {
	f := flag.NewFlagSet("limits", flag.ExitOnError)
	dir := f.String("dir", os.TempDir(), "directory on the disk to measure")
	rounds := f.Int("rounds", 3, "repetitions of each measurement")
	f.Parse(args)
	for _, l := range []struct {
		name string
		run  func(dir string) (string, error)
	}{
		{"loopback TCP, 64 KB writes", func(string) (string, error) { return loopbackRate() }},
		{"loopback TCP, 16-byte ping-pong", func(string) (string, error) { return loopbackTrip() }},
		{"memcpy, 64 MB blocks", func(string) (string, error) { return memcpyRate(), nil }},
		{"file write, buffered", func(dir string) (string, error) { return writeRate(dir, 0) }},
		{"file write, fdatasync every 1 MB", func(dir string) (string, error) { return writeRate(dir, 1<<20) }},
		{"fdatasync after a 128-byte append", func(dir string) (string, error) { return syncLatency(dir, 128) }},
		{"fdatasync after a 4-KB append", func(dir string) (string, error) { return syncLatency(dir, 4096) }},
		{"fdatasync after a 64-KB append", func(dir string) (string, error) { return syncLatency(dir, 64<<10) }},
		{"fdatasync after 128 bytes into a preallocated file", func(dir string) (string, error) { return syncLatency(dir, -128) }},
	} {
		for i := 0; i < *rounds; i++ {
			out, err := l.run(*dir)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			name := l.name
			if i > 0 {
				name = ""
			}
			fmt.Printf("%-52s %s\n", name, out)
		}
	}
	return nil
}

func tcpPair() (a, b net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	b, err = l.Accept()
	return a, b, err
}

func loopbackRate() (string, error) {
	a, b, err := tcpPair()
	if err != nil {
		return "", err
	}
	defer a.Close()
	const total = 8 << 30
	start, cpu := time.Now(), procfs.OwnCPU()
	go func() {
		buf := make([]byte, 64<<10)
		for sent := 0; sent < total; sent += len(buf) {
			if _, err := b.Write(buf); err != nil {
				break
			}
		}
		b.Close()
	}()
	buf := make([]byte, wire.ReadBuffer)
	var got int
	for err == nil {
		var n int
		n, err = a.Read(buf)
		got += n
	}
	if err != io.EOF || got != total {
		return "", fmt.Errorf("received %d bytes: %v", got, err)
	}
	took := time.Since(start)
	return fmt.Sprintf("%.0f MB/s, %.2f CPU s per GB for both ends",
		total/1e6/took.Seconds(), (procfs.OwnCPU()-cpu).Seconds()/(total/1e9)), nil
}

func loopbackTrip() (string, error) {
	a, b, err := tcpPair()
	if err != nil {
		return "", err
	}
	defer a.Close()
	go func() {
		defer b.Close()
		io.CopyBuffer(struct{ io.Writer }{b}, struct{ io.Reader }{b}, make([]byte, 64))
	}()
	var h stats.Hist
	buf := make([]byte, 16)
	for i := 0; i < 50000; i++ {
		start := time.Now()
		if _, err := a.Write(buf); err != nil {
			return "", err
		}
		if _, err := io.ReadFull(a, buf); err != nil {
			return "", err
		}
		h.Add(time.Since(start))
	}
	return quantiles(&h), nil
}

func memcpyRate() string {
	from, to := make([]byte, 64<<20), make([]byte, 64<<20)
	copy(to, from)
	const rounds = 100
	start := time.Now()
	for i := 0; i < rounds; i++ {
		copy(to, from)
	}
	return fmt.Sprintf("%.1f GB/s", rounds*float64(len(from))/1e9/time.Since(start).Seconds())
}

func scratchFile(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, fmt.Sprintf("godwit-limits-%d", os.Getpid())),
		os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
}

func drop(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

// writeRate writes 2 GB (1 GB if synced) in 1-MB blocks.
func writeRate(dir string, syncEvery int) (string, error) {
	f, err := scratchFile(dir)
	if err != nil {
		return "", err
	}
	defer drop(f)
	total := 2 << 30
	if syncEvery > 0 {
		total = 1 << 30
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7)
	}
	start, cpu := time.Now(), procfs.OwnCPU()
	for done := 0; done < total; done += len(block) {
		if _, err := f.Write(block); err != nil {
			return "", err
		}
		if syncEvery > 0 {
			if err := syscall.Fdatasync(int(f.Fd())); err != nil {
				return "", err
			}
		}
	}
	took := time.Since(start)
	return fmt.Sprintf("%.0f MB/s, %.2f CPU s per GB", float64(total)/1e6/took.Seconds(),
		(procfs.OwnCPU()-cpu).Seconds()/(float64(total)/1e9)), nil
}

// syncLatency times write plus fdatasync; a negative size writes into space
// that was allocated and written before.
func syncLatency(dir string, size int) (string, error) {
	f, err := scratchFile(dir)
	if err != nil {
		return "", err
	}
	defer drop(f)
	if size < 0 {
		size = -size
		if _, err := f.Write(make([]byte, 16<<20)); err != nil {
			return "", err
		}
		if err := f.Sync(); err != nil {
			return "", err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
	}
	var h stats.Hist
	buf := make([]byte, size)
	for i, start := 0, time.Now(); i < 5000 && time.Since(start) < 4*time.Second; i++ {
		at := time.Now()
		if _, err := f.Write(buf); err != nil {
			return "", err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return "", err
		}
		h.Add(time.Since(at))
	}
	return quantiles(&h), nil
}

func quantiles(h *stats.Hist) string {
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	return fmt.Sprintf("p50 %.0f, p99 %.0f, p99.9 %.0f, max %.0f us",
		us(h.Quantile(.5)), us(h.Quantile(.99)), us(h.Quantile(.999)), us(h.Max()))
}
