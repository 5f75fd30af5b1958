// Package plane runs a real Kubernetes control plane on loopback: etcd, the API
// server, the scheduler, the controller manager, and kwok, which plays the kubelets
// of nodes that carry KubeletLabel. The components are child processes of one
// binary, which `make controlplane` builds.
package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startTimeout bounds the whole start. On two idle cores it takes 4 seconds.
	startTimeout = 2 * time.Minute
	// versionTimeout bounds one request to an API server that is ready.
	versionTimeout = 10 * time.Second
	// attempts counts tries to start: one more than usual, for a port that another
	// process took at the wrong moment.
	attempts = 2
)

// Config describes a control plane.
type Config struct {
	Dir          string        // state folder; it must exist
	Binary       string        // path of the control plane binary; see FindBinary for the default
	Port         int           // of the API server; 0 means a free one
	Authenticate Authenticator // of bearer tokens that are not ServiceAccounts'; nil: none is known
	AuditUser    string        // whose requests AuditLog holds; empty for none
	Progress     func(step string, took time.Duration)
	Logger       hclog.Logger
}

// Plane is a running control plane.
type Plane struct {
	Host       string // URL of the API server
	CA         []byte // PEM of its certificate authority
	Kubeconfig string // path of the administrator's kubeconfig

	config     Config
	state      state
	rest       *rest.Config
	webhook    *tokenWebhook
	supervisor *supervisor
	lap        time.Time
	stopOnce   sync.Once
	stopErr    error
}

// Start brings a control plane up and returns once it is able to run workloads. On
// failure everything that was started is stopped again, and the error holds the end
// of the log of the component that is to blame.
func Start(ctx context.Context, config Config) (*Plane, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	if config.Binary, err = FindBinary(config.Binary); err != nil {
		return nil, err
	}
	if config.Authenticate == nil {
		config.Authenticate = func(context.Context, string) (string, []string, error) { return "", nil, errors.New("unknown token") }
	}
	if config.Progress == nil {
		config.Progress = func(string, time.Duration) {}
	}
	if config.Logger == nil {
		config.Logger = hclog.NewNullLogger()
	}
	for range attempts {
		var plane *Plane
		plane, err = startOnce(ctx, config)
		if err == nil {
			return plane, nil
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
		config.Logger.Warn("port was taken, starting again", "error", err)
	}
	return nil, err
}

func startOnce(ctx context.Context, config Config) (_ *Plane, err error) {
	chosen, err := choosePorts(config.Port)
	if err != nil {
		return nil, err
	}
	p := &Plane{Host: localURL("https", chosen.apiServer), config: config, state: state(config.Dir), lap: time.Now()}
	p.webhook, err = startTokenWebhook(config.Authenticate, config.Logger)
	if err != nil {
		return nil, err
	}
	p.supervisor = newSupervisor(config.Binary, p.state)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	return p, p.startComponents(ctx, chosen)
}

// prepare writes the files that the components read.
func (p *Plane) prepare(ctx context.Context) error {
	ca, err := p.state.prepare(p.Host, p.webhook.url())
	if err != nil {
		return err
	}
	if p.config.AuditUser != "" {
		if err := p.state.writeAuditPolicy(p.config.AuditUser); err != nil {
			return err
		}
	}
	stages, err := exec.CommandContext(ctx, p.config.Binary, "kwok-stages").Output()
	if err != nil {
		return fmt.Errorf("read kwok's stages from %s: %w", p.config.Binary, err)
	}
	if err := os.WriteFile(p.state.path("kwok.yaml"), stages, 0o600); err != nil {
		return fmt.Errorf("write kwok's stages: %w", err)
	}
	p.CA = ca
	p.Kubeconfig = p.state.kubeconfig(clientAdmin)
	p.rest, err = clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig %s: %w", p.Kubeconfig, err)
	}
	// The client-side limit of 5 requests per second is for shared clusters.
	p.rest.QPS = -1
	p.step("certificates and kubeconfigs written")
	return nil
}

// startComponents starts the components in the order in which they need each other.
func (p *Plane) startComponents(ctx context.Context, chosen ports) error {
	if err := p.supervisor.start("etcd", etcdFlags(p.state, chosen)...); err != nil {
		return err
	}
	flags := apiServerFlags(p.state, chosen)
	if p.config.AuditUser != "" {
		flags = append(flags, auditFlags(p.state)...)
	}
	if err := p.supervisor.start("kube-apiserver", flags...); err != nil {
		return err
	}
	if err := p.awaitReadyz(ctx); err != nil {
		return err
	}
	p.step("etcd and kube-apiserver ready")

	// The others give up when the API server does not answer soon.
	if err := p.supervisor.start("kube-scheduler", schedulerFlags(p.state, chosen)...); err != nil {
		return err
	}
	if err := p.supervisor.start("kube-controller-manager", controllerManagerFlags(p.state, chosen)...); err != nil {
		return err
	}
	if err := p.supervisor.start("kwok", kwokFlags(p.state)...); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(p.rest)
	if err != nil {
		return fmt.Errorf("make client of the API server: %w", err)
	}
	if err := publishIssuer(ctx, client); err != nil {
		return err
	}
	if err := p.awaitHealthz(ctx, chosen.scheduler); err != nil {
		return err
	}
	if err := p.awaitHealthz(ctx, chosen.controllerManager); err != nil {
		return err
	}
	if err := p.awaitServiceAccount(ctx, client); err != nil {
		return err
	}
	p.step("kube-scheduler, kube-controller-manager and kwok ready")
	return nil
}

// step reports that something is done, and the time since the last one.
func (p *Plane) step(what string) {
	now := time.Now()
	p.config.Progress(what, now.Sub(p.lap))
	p.lap = now
}

// publishIssuer lets anybody read the issuer's discovery document and keys, as EKS
// does: AWS verifies ServiceAccount tokens with them and has no account there.
func publishIssuer(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sandbox:service-account-issuer-discovery"},
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:service-account-issuer-discovery",
		},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:unauthenticated"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("publish the service account issuer: %w", err)
	}
	return nil
}

// awaitServiceAccount waits for the ServiceAccount that every pod needs: until the
// controller has made it, pods are refused.
func (p *Plane) awaitServiceAccount(ctx context.Context, client kubernetes.Interface) error {
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if err := p.supervisor.death(); err != nil {
			return false, err
		}
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("wait for the default service account: %w", err)
	}
	return nil
}

// RestartAPIServer kills the API server, as a crash would, starts it again on the
// same port and the same etcd, and returns once it is ready.
func (p *Plane) RestartAPIServer(ctx context.Context) error {
	if err := p.supervisor.restart("kube-apiserver"); err != nil {
		return err
	}
	return p.awaitReadyz(ctx)
}

// RESTConfig returns a client configuration of the cluster's administrator.
func (p *Plane) RESTConfig() *rest.Config { return rest.CopyConfig(p.rest) }

// Version returns the API server's minor version, such as "1.37".
func (p *Plane) Version() (string, error) {
	config := p.RESTConfig()
	config.Timeout = versionTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("read the API server's version: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("read the API server's version: %w", err)
	}
	return version.Major + "." + strings.TrimSuffix(version.Minor, "+"), nil
}

// Died is closed when a component ends by itself; Err then tells which and why.
func (p *Plane) Died() <-chan struct{} { return p.supervisor.died }

// Err returns why a component ended, and nil while all run.
func (p *Plane) Err() error { return p.supervisor.death() }

// Stop ends all components. It may be called again.
func (p *Plane) Stop() error {
	p.stopOnce.Do(func() {
		p.supervisor.stop()
		p.stopErr = p.webhook.stop()
	})
	return p.stopErr
}
