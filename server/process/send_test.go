//go:build unix

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fakeProc makes a process table: pid → comm and command line. No test sends a signal to a real process.
func fakeProc(t *testing.T, processes map[int][2]string) string {
	t.Helper()
	dir := t.TempDir()
	for pid, p := range processes {
		d := filepath.Join(dir, fmt.Sprint(pid))
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"comm": p[0] + "\n", "cmdline": p[1]} {
			if err := os.WriteFile(filepath.Join(d, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"self", "sys", "99x"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSendSignal(t *testing.T) {
	files := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := [2]string{"nats-server", "/usr/bin/nats-server\x00-js\x00"}
	none := map[int][2]string{1: {"init", "init\x00"}, 50: {"nats-server", ""}, 60: {"nats-server2", "x\x00"}, 777: server} // 50 has ended, 777 is the sender
	one := map[int][2]string{154: server, 777: server, 2: {"nats", "nats\x00"}}
	two := map[int][2]string{172: server, 154: server, 777: server, 9: {"bash", "bash\x00"}}
	tests := []struct {
		name, param string
		procs       map[int][2]string
		sent        string // "signal pid" of each
		err         string
	}{
		{"unknown command", "foo=154", none, "", `unknown signal "foo"`},
		{"empty command", "=154", none, "", `unknown signal ""`},
		{"command in capitals", "RELOAD=154", none, "", `unknown signal "RELOAD"`},
		{"not a pid", "reload=abc", none, "", "invalid pid: abc"},
		{"no such file", "reload=/nonexist.pid", none, "", "invalid pid: /nonexist.pid"},
		{"no such process", "reload=99999", none, "hangup 99999", "\nsignal \"reload\" 99999: no such process"},
		{"too many parts", "reload=a=b", none, "", "invalid signal parameters: [b]"},
		{"far too many parts", "reload=a=b=c", none, "", "invalid signal parameters: [b c]"},
		{"none running", "reload", none, "", "no nats-server processes running"},
		{"none running, pattern", "reload=*", none, "", "no nats-server processes running"},
		{"none running comes before unknown command", "*", none, "", "no nats-server processes running"},
		{"one running", "stop", one, "killed 154", ""},
		{"quit", "quit", one, "interrupt 154", ""},
		{"term", "term", one, "terminated 154", ""},
		{"reopen", "reopen", one, "user defined signal 1 154", ""},
		{"reload", "reload", one, "hangup 154", ""},
		{"ldm", "ldm", one, "user defined signal 2 154", ""},
		{"empty target", "reload=", one, "hangup 154", ""},
		{"several running", "reload", two, "", "multiple nats-server processes running:\n154\n172"},
		{"all", "reload=*", two, "hangup 154, hangup 172", ""},
		{"pattern", "reload=17*", two, "hangup 172", ""},
		{"pattern of nothing", "reload=8*", two, "", "no nats-server processes running"},
		{"pattern that is no number", "reload=" + files + "/*", two, "", "invalid pid: " + files + "/"},
		{"pid needs no name", "ldm=9", two, "user defined signal 2 9", ""},
		{"pid file", "reload=" + file("a.pid", "123456"), none, "hangup 123456", ""},
		{"pid file with line end", "reload=" + file("b.pid", "123457\n"), none, "hangup 123457", ""},
		{"pid file of something else", "reload=" + file("c.pid", "abc"), none, "", "invalid pid: abc"},
		{"empty pid file", "reload=" + file("d.pid", ""), one, "hangup 154", ""},
		{"pid file as pattern", "reload=" + file("e.pid", "15") + "*", two, "hangup 154", ""},
		{"pid file with pid -1", "stop=" + file("f.pid", "-1"), two, "", "invalid pid: -1"},
		{"everybody", "stop=-1", two, "", "invalid pid: -1"},
		{"everybody, as pattern", "stop=-1*", two, "", "invalid pid: -1"},
		{"own group", "stop=0", two, "", "invalid pid: 0"},
		{"own group, as pattern", "stop=0*", two, "", "invalid pid: 0"},
		{"another group", "stop=-154", two, "", "invalid pid: -154"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var sent []string
			s := sender{name: "nats-server", self: 777, proc: fakeProc(t, tt.procs), kill: func(pid int, sig syscall.Signal) error {
				sent = append(sent, fmt.Sprint(sig, pid))
				if pid == 99999 {
					return syscall.ESRCH
				}
				return nil
			}}
			err := s.send(tt.param)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if got := strings.Join(sent, ", "); got != tt.sent || text != tt.err {
				t.Errorf("sent %q, error %q\nwant %q, error %q", got, text, tt.sent, tt.err)
			}
		})
	}
}

func TestSendSignalLongNames(t *testing.T) {
	name := "my-own-nats-server"
	proc := fakeProc(t, map[int][2]string{
		10: {name[:15], "/bin/" + name + "\x00-p\x001\x00"}, 11: {name[:15], "/bin/" + name + "-old\x00"}, 12: {name, name + "\x00"},
	})
	pids, err := sender{name: name, self: 1, proc: proc}.running("")
	if err != nil || fmt.Sprint(pids) != "[10]" {
		t.Error(pids, err)
	}
}

func TestSendSignalWithoutProcessTable(t *testing.T) {
	err := sender{name: "x", self: 1, proc: filepath.Join(t.TempDir(), "none")}.send("reload")
	if err == nil || !strings.HasPrefix(err.Error(), "unable to list the running processes, name one by its pid: ") {
		t.Error(err)
	}
}

// TestSendSignalToRealProcess asks for a process that can't be there.
func TestSendSignalToRealProcess(t *testing.T) {
	if err := SendSignal("reload=99999999", "x"); err == nil || err.Error() != "\nsignal \"reload\" 99999999: no such process" {
		t.Error(err)
	}
	if err := SendSignal("reload", "no-such-program-is-running"); err == nil || err.Error() != "no no-such-program-is-running processes running" {
		t.Error(err)
	}
}
