package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// process is one agent. It has credentials of its own for the API server and for AWS,
// by which its requests are told from those of others.
type process struct {
	*stage.Agent
	name    string
	stopped bool // at some time, with SIGSTOP
}

// signal stops the process (SIGSTOP), or lets it go on (SIGCONT).
func (p *process) signal(s syscall.Signal) error { return syscall.Kill(p.PID(), s) }

func (p *process) ended() bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// agents are the two of which one leads, and those before them.
type agents struct {
	*scene
	running [2]*process
	all     []*process
	names   map[string]string // of the processes, by the ids of their tokens
}

// revive starts an agent in place of each that has ended.
func (a *agents) revive() {
	a.t.Helper()
	for i, p := range a.running {
		if p != nil && !p.ended() {
			continue
		}
		name := "crash-" + strconv.Itoa(len(a.all)+1)
		agent, err := a.StartAgent(a.t.Context(), stage.AgentOptions{
			Name: name, RoleARN: a.role, Args: []string{"--startup-timeout=2m"}, Env: []string{"AWS_ROLE_SESSION_NAME=" + name},
		})
		if err != nil {
			a.t.Fatal(err)
		}
		a.t.Cleanup(agent.Stop)
		a.running[i] = &process{Agent: agent, name: name}
		a.all = append(a.all, a.running[i])
	}
	a.learnTokens()
}

// learnTokens notes whose the tokens are that the processes have now: they get others
// after a while.
func (a *agents) learnTokens() {
	a.t.Helper()
	for _, p := range a.running {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(p.LogFile), "kube.token"))
		if err != nil {
			a.t.Fatal(err)
		}
		token, err := jwt.ParseSigned(string(text), []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384})
		if err != nil {
			a.t.Fatalf("read the token of %s: %v", p.name, err)
		}
		var claims jwt.Claims
		if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil || claims.ID == "" {
			a.t.Fatalf("the token of %s has the id %q, %v", p.name, claims.ID, err)
		}
		a.names[claims.ID] = p.name
	}
}

func (a *agents) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	return a.Kube.CoordinationV1().Leases(stage.Namespace).Get(ctx, install.LeaseName, metav1.GetOptions{})
}

// leader is the running agent that holds the lease, if any.
func (a *agents) leader(ctx context.Context) (*process, error) {
	lease, err := a.lease(ctx)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the lease: %w", err)
	}
	for _, p := range a.running {
		if ptr.Deref(lease.Spec.HolderIdentity, "") == fmt.Sprintf("%s_%d", p.name, p.PID()) && !p.ended() {
			return p, nil
		}
	}
	return nil, nil
}

// awaitLeader waits until an agent leads that is not the given one. One that has ended
// by itself, for instance because it could not renew its lease, is started again.
func (a *agents) awaitLeader(but *process) (leader *process) {
	a.t.Helper()
	a.until("an agent leads", func(ctx context.Context) (bool, string, error) {
		a.revive()
		var err error
		leader, err = a.leader(ctx)
		return leader != nil && leader != but, fmt.Sprintf("%+v", leader), err
	})
	return leader
}

// kill ends a process with SIGKILL. Nobody waits for the lease of one that was killed.
func (a *agents) kill(p *process) {
	a.t.Helper()
	leader, err := a.leader(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	p.Kill()
	if p != leader {
		return
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease, err := a.lease(a.t.Context())
		if err != nil || !strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), p.name+"_") {
			return err
		}
		lease.Spec.HolderIdentity = ptr.To("")
		_, err = a.Kube.CoordinationV1().Leases(stage.Namespace).Update(a.t.Context(), lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		a.t.Fatalf("give back the lease of %s: %v", p.name, err)
	}
}

// stopTheLeader stops the leader for longer than its lease, lets it go on when the
// other one has led for a while, and waits for its end.
func (a *agents) stopTheLeader(meanwhile func()) {
	a.t.Helper()
	old := a.awaitLeader(nil)
	if err := old.signal(syscall.SIGSTOP); err != nil {
		a.t.Fatal(err)
	}
	old.stopped = true
	heir := a.awaitLeader(old)
	meanwhile()
	if err := old.signal(syscall.SIGCONT); err != nil {
		a.t.Fatal(err)
	}
	went := time.Now()
	select {
	case <-old.Done():
		a.t.Logf("%s was stopped, %s led, and %s ended after %s", old.name, heir.name, old.name, time.Since(went).Round(time.Millisecond))
	case <-time.After(patience):
		a.t.Fatalf("%s goes on, although %s leads", old.name, heir.name)
	}
}

// logs are the last lines of the agents that run, and of the last that ended.
func (a *agents) logs() string {
	var b strings.Builder
	for _, p := range a.all[max(0, len(a.all)-4):] {
		state := "runs"
		if p.ended() {
			state = "has ended"
		}
		fmt.Fprintf(&b, "%s, which %s:\n%s\n", p.name, state, tail(p.LogFile, 10_000))
	}
	return b.String()
}

// byName returns the process with a name.
func (a *agents) byName(name string) *process {
	i := slices.IndexFunc(a.all, func(p *process) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return a.all[i]
}
