package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// AgentOptions says how the agent is started.
type AgentOptions struct {
	Name    string // of the process's files; "agent" when empty
	RoleARN string // the IRSA role
	Args    []string
	Env     []string
	Server  string // URL of the API server; the sandbox's own when empty
}

// Agent is a running packhorse-agent. It has its ServiceAccount's token for the
// API server, and another one that it exchanges for AWS credentials; nothing else.
type Agent struct {
	LogFile string
	Metrics string // URL
	Ready   string // URL of the readiness probe
	Status  string // URL of the status page

	cmd  *exec.Cmd
	done chan struct{}
	once sync.Once
}

// StartAgent starts the container of the agent's Deployment, with further
// arguments, and keeps its tokens fresh until it ends.
func (s *Stage) StartAgent(ctx context.Context, o AgentOptions) (*Agent, error) {
	settings := s.settings(o.RoleARN)
	template := settings.Deployment().Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.ObjectMeta = metav1.ObjectMeta{Name: cmp.Or(o.Name, "agent"), Namespace: Namespace, Labels: template.Labels}
	pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, o.Args...)
	return s.startPod(ctx, pod, o)
}

// startPod runs the only container of a pod as a process.
func (s *Stage) startPod(ctx context.Context, pod *corev1.Pod, o AgentOptions) (*Agent, error) {
	p, err := s.newPodDir(pod, cmp.Or(o.Server, s.Sandbox.Host))
	if err != nil {
		return nil, err
	}
	bin, err := s.inImage(pod.Spec.Containers[0].Image)
	if err != nil {
		return nil, err
	}
	if err := p.writeTokens(ctx); err != nil {
		return nil, err
	}
	env, err := p.environment()
	if err != nil {
		return nil, err
	}
	a := &Agent{
		LogFile: p.path("log"), Metrics: "http://" + p.ports["metrics"] + "/metrics",
		Ready: "http://" + p.ports["health"] + "/readyz", Status: "http://" + p.ports["status"], done: make(chan struct{}),
	}
	log, err := os.OpenFile(a.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the agent's log: %w", err)
	}
	a.cmd = exec.Command(bin, pod.Spec.Containers[0].Args...)
	a.cmd.Env = slices.Concat(env, o.Env)
	a.cmd.Stdout, a.cmd.Stderr = log, log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", bin, errors.Join(err, log.Close()))
	}
	tokens, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// Not at once: the process would have either of two tokens, and nobody could tell which.
	go func() {
		_ = wait.PollUntilContextCancel(tokens, 10*time.Minute, false, func(ctx context.Context) (bool, error) {
			_ = p.writeTokens(ctx) // tried again
			return false, nil
		})
	}()
	go func() {
		_ = a.cmd.Wait()
		_ = log.Close()
		cancel()
		close(a.done)
	}()
	return a, nil
}

// Stop ends the agent with SIGTERM, and with SIGKILL after ten seconds.
func (a *Agent) Stop() {
	a.once.Do(func() {
		_ = a.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-a.done:
		case <-time.After(10 * time.Second):
			a.Kill()
		}
	})
}

// Kill ends the agent at once, as a crash would.
func (a *Agent) Kill() {
	_ = a.cmd.Process.Kill()
	<-a.done
}

// PID is the process's id.
func (a *Agent) PID() int { return a.cmd.Process.Pid }

// Done is closed when the process has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }
