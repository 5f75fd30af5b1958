package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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

	cmd    *exec.Cmd
	done   chan struct{}
	once   sync.Once
	cancel context.CancelFunc
}

// StartAgent starts the agent and keeps its tokens fresh until it ends.
func (s *Stage) StartAgent(ctx context.Context, o AgentOptions) (*Agent, error) {
	bin, err := s.Binary("packhorse-agent")
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "agent"
	}
	dir := filepath.Join(s.dir, o.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	kubeToken, webToken := filepath.Join(dir, "kube.token"), filepath.Join(dir, "aws.token")
	refresh := func(ctx context.Context) error {
		return errors.Join(s.writeToken(ctx, kubeToken), s.writeToken(ctx, webToken, "sts.amazonaws.com"))
	}
	if err := refresh(ctx); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := s.writeKubeconfig(kubeconfig, cmp.Or(o.Server, s.Sandbox.Host), kubeToken); err != nil {
		return nil, err
	}
	metrics, err := freeAddress()
	if err != nil {
		return nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, err
	}
	a := &Agent{LogFile: filepath.Join(dir, "log"), Metrics: "http://" + metrics + "/metrics", done: make(chan struct{})}
	log, err := os.OpenFile(a.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the agent's log: %w", err)
	}
	args := append([]string{
		"run", "--kubeconfig", kubeconfig, "--cluster-name", s.Sandbox.ClusterName, "--namespace", Namespace,
		"--metrics-address", metrics, "--health-address", health, "--default-instance-profile", NodeRole,
	}, o.Args...)
	a.cmd = exec.Command(bin, args...)
	a.cmd.Env = append([]string{
		"AWS_ROLE_ARN=" + o.RoleARN, "AWS_WEB_IDENTITY_TOKEN_FILE=" + webToken, "AWS_REGION=" + s.Sandbox.Region,
		"AWS_ENDPOINT_URL=" + s.Sandbox.AWSEndpoint, "AWS_ENDPOINT_URL_STS=" + s.Sandbox.AWSEndpoint,
		"AWS_EC2_METADATA_DISABLED=true", "HOME=" + dir, "PATH=" + os.Getenv("PATH"),
	}, o.Env...)
	a.cmd.Stdout, a.cmd.Stderr = log, log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", bin, errors.Join(err, log.Close()))
	}
	tokens, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel = cancel
	go wait.UntilWithContext(tokens, func(ctx context.Context) { _ = refresh(ctx) }, 10*time.Minute)
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

// Done is closed when the process has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// writeToken writes a fresh token of the agent's ServiceAccount for the
// audiences, or for the API server where there are none.
func (s *Stage) writeToken(ctx context.Context, path string, audiences ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	hour := int64(3600)
	req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &hour}}
	got, err := s.Kube.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, ServiceAccount, req, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("request a token of ServiceAccount %s/%s: %w", Namespace, ServiceAccount, err)
	}
	if err := os.WriteFile(path+".new", []byte(got.Status.Token), 0o600); err != nil {
		return fmt.Errorf("write a token: %w", err)
	}
	return os.Rename(path+".new", path)
}

func (s *Stage) writeKubeconfig(path, server, tokenFile string) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["sandbox"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: s.Sandbox.CA}
	cfg.AuthInfos["agent"] = &clientcmdapi.AuthInfo{TokenFile: tokenFile}
	cfg.Contexts["sandbox"] = &clientcmdapi.Context{Cluster: "sandbox", AuthInfo: "agent"}
	cfg.CurrentContext = "sandbox"
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return fmt.Errorf("write the agent's kubeconfig: %w", err)
	}
	return nil
}

// freeAddress returns a loopback address with a port that is free now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}
