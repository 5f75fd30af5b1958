package plane

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a component may take to stop before it is killed.
	stopGrace = 5 * time.Second
	// tailLines and tailBytes bound the part of a log that goes into an error.
	tailLines = 15
	tailBytes = 16 << 10
	// garbageCollection is GOGC in the components: 200 buys a fifth more throughput
	// than the default of 100 for about 350 MiB under load.
	garbageCollection = "GOGC=200"
)

// process is one running component.
type process struct {
	name    string
	logPath string
	command *exec.Cmd
	exited  chan struct{} // closed when the process is gone; exitErr is set before
	exitErr error
	asked   bool // to end: its end is no death
}

// supervisor starts the components as child processes that do not outlive it.
type supervisor struct {
	binary string
	state  state
	spawn  chan func() // run on the supervisor's own thread

	mu        sync.Mutex
	processes []*process // in the order of their start
	stopping  bool
	died      chan struct{} // closed when a component exits that was not asked to
	deathErr  error
}

// newSupervisor returns a supervisor that runs applets of the control plane binary.
// It must be stopped.
func newSupervisor(binary string, s state) *supervisor {
	sup := &supervisor{binary: binary, state: s, spawn: make(chan func()), died: make(chan struct{})}
	go func() {
		// The kernel delivers the parent-death signal when the thread that forked
		// ends, not the process: every child is forked from this one thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for start := range sup.spawn {
			start()
		}
	}()
	return sup
}

// start runs an applet with its output in a log file of its own.
func (s *supervisor) start(applet string, args ...string) error {
	logFile, err := os.Create(s.state.log(applet))
	if err != nil {
		return fmt.Errorf("create log of %s: %w", applet, err)
	}
	command := exec.Command(s.binary, append([]string{applet}, args...)...)
	command.Stdout, command.Stderr = logFile, logFile
	command.Dir = string(s.state)
	command.Env = append(os.Environ(), garbageCollection)
	command.SysProcAttr = childAttributes()

	started := make(chan error)
	s.spawn <- func() { started <- command.Start() }
	if err := <-started; err != nil {
		logFile.Close()
		return fmt.Errorf("start %s: %w", applet, err)
	}
	p := &process{name: applet, logPath: logFile.Name(), command: command, exited: make(chan struct{})}
	s.mu.Lock()
	s.processes = append(s.processes, p)
	s.mu.Unlock()
	go s.wait(p, logFile)
	return nil
}

// wait notes the end of a process, and reports it as a death unless it was asked for.
func (s *supervisor) wait(p *process, logFile io.Closer) {
	p.exitErr = p.command.Wait()
	logFile.Close()
	close(p.exited)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || p.asked || s.deathErr != nil {
		return
	}
	s.deathErr = p.failure()
	close(s.died)
}

// restart kills a component, as a crash would, and starts it again with the same
// flags.
func (s *supervisor) restart(applet string) error {
	s.mu.Lock()
	i := slices.IndexFunc(s.processes, func(p *process) bool { return p.name == applet })
	if i < 0 || s.stopping {
		s.mu.Unlock()
		return fmt.Errorf("restart %s: it is not running", applet)
	}
	p := s.processes[i]
	p.asked = true
	s.processes = slices.Delete(s.processes, i, i+1)
	s.mu.Unlock()
	_ = p.command.Process.Kill() // an error means that it is gone already
	<-p.exited
	return s.start(applet, p.command.Args[2:]...)
}

// failure describes a process that ended by itself, with the tail of its log.
func (p *process) failure() error {
	tail := tailOf(p.logPath)
	cause := p.exitErr
	if cause == nil {
		cause = errors.New("exit status 0")
	}
	if strings.Contains(tail, "address already in use") {
		cause = fmt.Errorf("%w (%w)", errPortTaken, cause)
	}
	return fmt.Errorf("%s stopped: %w; the end of %s:\n%s", p.name, cause, p.logPath, tail)
}

// stop ends all components in the reverse order of their start, and kills those
// that take too long. It may be called again.
func (s *supervisor) stop() {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return
	}
	s.stopping = true
	processes := slices.Clone(s.processes)
	s.mu.Unlock()

	for _, p := range slices.Backward(processes) {
		// Errors mean that it is gone already, which wait reports.
		_ = p.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(stopGrace):
			_ = p.command.Process.Kill()
			<-p.exited
		}
	}
	close(s.spawn)
}

// death returns why a component ended, and nil while all run.
func (s *supervisor) death() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deathErr
}

// tailOf returns the last lines of a log, or why it cannot be read.
func tailOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}
