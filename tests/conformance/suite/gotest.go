package suite

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"godwit/tests/harness/child"
)

// outcome is what one go test process achieved.
type outcome struct {
	tests    []*Result
	complete bool   // the test binary came to its regular end
	text     string // output that belongs to no test
}

// goTest is one go test process over one package.
type goTest struct {
	dir, pkg, run string
	skip          []string // tests that have their outcome already
	url           string
	limit         time.Duration // for a single test
	progress      io.Writer

	err     error          // why the process could not be started
	process *child.Process // nil after an error
	stdout  *os.File       // the read end
	stderr  tail           // belongs to os/exec until the process is gone
}

// maxEventBytes bounds one line of go test -json.
const maxEventBytes = 16 << 20

// start begins the process; wait tells what came of it.
func (t *goTest) start() {
	args := append([]string{"test"}, buildFlags()...)
	args = append(args, "-p=1", "-vet=off", "-json", "-count=1", "-timeout=3h")
	if t.run != "" {
		args = append(args, "-run", t.run)
	}
	if len(t.skip) > 0 {
		args = append(args, "-skip", exactly(t.skip))
	}
	cmd := exec.Command("go", append(args, t.pkg)...)
	cmd.Dir = t.dir
	cmd.Env = goEnv(t.url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // go test kills its children in turn
	cmd.Stderr = &t.stderr
	cmd.WaitDelay = 10 * time.Second // for what may still hold standard error open
	read, write, err := os.Pipe()
	if err != nil {
		t.err = err
		return
	}
	defer write.Close()
	cmd.Stdout = write
	if t.process, t.err = child.Start(cmd); t.err != nil {
		read.Close()
		return
	}
	t.stdout = read
}

// kill ends the process and all it started; wait then returns soon.
func (t *goTest) kill() {
	if t.process != nil {
		t.process.KillGroup()
	}
}

// wait follows the process to its end, killing it when a single test takes longer than the limit.
func (t *goTest) wait() outcome {
	if t.err != nil {
		return outcome{text: t.err.Error()}
	}
	defer t.stdout.Close()
	c := &collector{pkg: name(t.pkg), active: map[string]*running{}, progress: t.progress}
	var watcher sync.WaitGroup
	watcher.Go(func() {
		c.watch(t.process, t.limit)
		<-t.process.Done()
		// Nothing of the group may outlive the run, hung grandchildren included: they also hold
		// the pipe open.
		t.process.KillGroup()
	})
	in := bufio.NewScanner(t.stdout)
	in.Buffer(nil, maxEventBytes)
	for in.Scan() {
		var ev testEvent
		if json.Unmarshal(in.Bytes(), &ev) != nil {
			ev = testEvent{Action: "output", Output: in.Text() + "\n"}
		}
		c.event(ev)
	}
	io.Copy(io.Discard, t.stdout) // after a line that is too long
	watcher.Wait()
	return c.finish(string(t.stderr.text))
}

// Write implements io.Writer for the process's standard error.
func (t *tail) Write(p []byte) (int, error) {
	t.add(string(p))
	return len(p), nil
}
