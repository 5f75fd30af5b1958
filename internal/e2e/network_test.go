package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// proxy passes connections on to the API server until it is cut.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (s *scene) proxy() *proxy {
	s.t.Helper()
	host, err := url.Parse(s.Sandbox.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	p := &proxy{listener: l, server: host.Host}
	go p.serve()
	s.t.Cleanup(func() {
		p.set(true)
		_ = l.Close()
	})
	return p
}

func (p *proxy) url() string { return "https://" + p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		go p.pass(in)
	}
}

func (p *proxy) pass(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := net.DialTimeout("tcp", p.server, 5*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	p.mu.Lock()
	p.conns = append(p.conns, in, out)
	cut := p.cut
	p.mu.Unlock()
	if cut {
		return
	}
	go func() { _, _ = io.Copy(out, in); _ = out.Close() }() // ends with either side
	_, _ = io.Copy(in, out)
}

// set cuts all connections, those that are open included, or lets them through.
func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// restart ends the agent of the scene and starts another.
func (s *scene) restart(o stage.AgentOptions) *stage.Agent {
	s.t.Helper()
	s.agent.Stop()
	o.RoleARN = s.role
	agent, err := s.StartAgent(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(agent.Stop)
	s.agent = agent
	return agent
}

// connectionsCut cuts all watches, and keeps the API server away for a while.
func connectionsCut(s *scene) {
	p := s.proxy()
	s.restart(stage.AgentOptions{Server: p.url()})
	s.apply(provisioner("cut", "labels: {purpose: cut}"))
	s.apply(deployment("cut", "cut", 2, "500m", "256Mi"))
	s.untilRunning("cut", 2)
	p.set(true)
	s.apply(deployment("cut-meanwhile", "cut", 6, "500m", "256Mi"))
	timer := time.NewTimer(3 * time.Second) // well within the lease
	<-timer.C
	p.set(false)
	s.untilRunning("cut-meanwhile", 6)
	s.delete("cut")
	s.delete("cut-meanwhile")
	s.deleteProvisioner("cut")
	s.untilNoNodes("cut")
}

// apiServerRestarted kills the API server while machines are on their way and pods
// come, starts it again, and does so once more while nodes go. Where that takes
// longer than the lease, the agent ends and is started again, as a kubelet does.
func apiServerRestarted(s *scene) {
	s.restart(stage.AgentOptions{})
	defer s.supervise()()
	s.apply(provisioner("restarted", "labels: {purpose: restarted}"))
	s.apply(deployment("restarted", "restarted", 4, "500m", "256Mi"))
	s.until("a machine is launched", func(context.Context) (bool, string, error) {
		return s.live("restarted") > 0, "none", nil
	})
	s.restartAPIServer()
	s.apply(deployment("restarted-later", "restarted", 6, "500m", "256Mi"))
	s.untilRunning("restarted", 4)
	s.untilRunning("restarted-later", 6)
	s.until("each instance has a node", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "restarted")
		return len(nodes) == s.live("restarted"), fmt.Sprintf("%d nodes, %d instances", len(nodes), s.live("restarted")), err
	})
	s.delete("restarted")
	s.delete("restarted-later")
	s.deleteProvisioner("restarted")
	s.restartAPIServer()
	s.untilNoNodes("restarted")
}

// supervise starts the scene's agent again whenever it ends, until the returned
// function is called.
func (s *scene) supervise() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.agent.Done():
			}
			// Its tokens come from the API server, which may not be back yet.
			err := wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
				agent, err := s.StartAgent(ctx, stage.AgentOptions{RoleARN: s.role})
				if err == nil {
					s.agent = agent
					s.t.Cleanup(agent.Stop)
				}
				return err == nil, nil
			})
			if err != nil {
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func (s *scene) restartAPIServer() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.Sandbox.RestartAPIServer(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// leaderCutOff lets a standby take over from a leader that cannot reach the API
// server, while pods wait.
func leaderCutOff(s *scene) {
	p := s.proxy()
	first := s.restart(stage.AgentOptions{Server: p.url()})
	s.untilLeading(first)
	standby := s.standby()
	p.set(true)
	s.apply(provisioner("parted", "labels: {purpose: parted}"))
	s.apply(deployment("parted", "parted", 3, "500m", "256Mi"))
	s.untilRunning("parted", 3)
	select {
	case <-first.Done():
	case <-time.After(patience):
		s.t.Error("the first agent goes on without its lease")
	}
	s.until("each instance has a node", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "parted")
		return len(nodes) == s.live("parted"), fmt.Sprintf("%d nodes, %d instances", len(nodes), s.live("parted")), err
	})
	s.agent = standby
	s.delete("parted")
	s.deleteProvisioner("parted")
	s.untilNoNodes("parted")
}

// standby starts an agent that waits for the leader's lease.
func (s *scene) standby() *stage.Agent {
	s.t.Helper()
	standby, err := s.StartAgent(s.t.Context(), stage.AgentOptions{Name: "standby", RoleARN: s.role})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(standby.Stop)
	return standby
}
