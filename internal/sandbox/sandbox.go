// Package sandbox is a Kubernetes cluster on AWS that fits on one machine: a real
// control plane (package plane), AWS endpoints that speak the real wire protocols
// (package cloud), and simulated kubelets on the instances that are launched there
// (package kubelet). Everything listens on loopback only, keeps its state in one
// folder, and ends with the process that started it.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
)

// Sandbox is a running sandbox.
type Sandbox struct {
	Dir         string // state folder, with a log per component in logs/
	ClusterName string
	Region      string

	Kubeconfig string // path of the administrator's kubeconfig
	Host       string // URL of the API server
	Version    string // its minor version, such as "1.37"
	CA         []byte // PEM of its certificate authority

	AWSEndpoint     string // URL for AWS_ENDPOINT_URL
	ControlEndpoint string // URL of the control endpoint, see control.go

	Cloud    *cloud.Cloud
	Kubelets *kubelet.Simulator

	plane     *plane.Plane
	closers   []func() error // run in reverse by Stop
	stopOnce  sync.Once
	stopErr   error
	progress  func(string)
	temporary bool
}

// Start brings a sandbox up. On failure everything is stopped again, and the error
// holds the end of the log of the component that is to blame. The sandbox does not
// end with ctx but with Stop, or with the process.
func Start(ctx context.Context, o Options) (_ *Sandbox, err error) {
	o, err = o.complete()
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	s := &Sandbox{ClusterName: o.ClusterName, Region: o.Region, progress: o.Progress}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start sandbox: %w", err), s.Stop())
		}
	}()
	if s.Dir, s.temporary, err = o.stateFolder(); err != nil {
		return nil, err
	}
	// The API server needs to know where tokens are reviewed before it starts, and
	// AWS needs to know the API server.
	if err := s.startCloud(o); err != nil {
		return nil, err
	}
	if err := s.startPlane(ctx, o); err != nil {
		return nil, err
	}
	if err := s.startKubelets(o); err != nil {
		return nil, err
	}
	return s, s.startControl(o)
}

func (s *Sandbox) startCloud(o Options) error {
	begin := time.Now()
	var err error
	s.Cloud, err = cloud.New(cloud.Config{
		Region: o.Region, Catalogue: o.Catalogue, Logger: o.Logger.Named("cloud"),
		Cluster: cloud.Cluster{Name: o.ClusterName, ServiceCIDR: plane.ServiceCIDR},
	})
	if err != nil {
		return fmt.Errorf("start AWS endpoints: %w", err)
	}
	if s.AWSEndpoint, err = s.serve(o.AWSPort, s.Cloud.Handler()); err != nil {
		return fmt.Errorf("start AWS endpoints: %w", err)
	}
	s.Cloud.SetEndpoint(s.AWSEndpoint)
	s.step("AWS endpoints ready", time.Since(begin))
	return nil
}

func (s *Sandbox) startPlane(ctx context.Context, o Options) error {
	var err error
	s.plane, err = plane.Start(ctx, plane.Config{
		Dir: s.Dir, Binary: o.ControlPlane, Port: o.APIServerPort,
		Authenticate: s.Cloud.AuthenticateToken, AuditUser: o.AuditUser, Progress: s.step, Logger: o.Logger.Named("plane"),
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.plane.Stop)
	s.Kubeconfig, s.Host, s.CA = s.plane.Kubeconfig, s.plane.Host, s.plane.CA
	if s.Version, err = s.plane.Version(); err != nil {
		return err
	}
	s.Cloud.SetCluster(cloud.Cluster{
		Name: o.ClusterName, Version: s.Version, Endpoint: s.Host, CA: s.CA,
		IssuerURL: s.Host, IssuerCA: s.CA, ServiceCIDR: plane.ServiceCIDR,
	})
	return nil
}

func (s *Sandbox) startKubelets(o Options) error {
	images := s.imageNames()
	var err error
	s.Kubelets, err = kubelet.New(kubelet.Config{
		ClusterName: o.ClusterName, Region: o.Region, Catalogue: o.Catalogue,
		BootDelay: o.BootDelay, MemoryOverhead: o.MemoryOverhead,
		Admin: s.RESTConfig(), KubeletLabel: plane.KubeletLabel, KubeletLabelValue: plane.KubeletLabelValue,
		ImageName: images.name, Running: s.Cloud.MarkRunning, Logger: o.Logger.Named("kubelet"),
	})
	if err != nil {
		return fmt.Errorf("start kubelets: %w", err)
	}
	unsubscribe := s.Cloud.Subscribe(s.follow)
	s.closers = append(s.closers, func() error {
		unsubscribe()
		s.Kubelets.Stop()
		return nil
	})
	return nil
}

// follow powers machines on and off as instances come and go.
func (s *Sandbox) follow(event cloud.Event) {
	i := event.Instance
	switch event.Kind {
	case cloud.Launched:
		s.Kubelets.Boot(kubelet.Machine{
			ID: i.ID, Type: i.Type, ImageID: i.ImageID, Zone: i.Zone,
			PrivateIP: i.PrivateIP, PrivateDNSName: i.PrivateDNSName,
			InstanceProfile: i.InstanceProfile, UserData: i.UserData, Volumes: i.Volumes, EFAs: i.EFAs,
		})
	case cloud.Stopping, cloud.Terminated:
		s.Kubelets.Shutdown(i.ID)
	}
}

// step tells a step of the start.
func (s *Sandbox) step(name string, took time.Duration) {
	s.progress(fmt.Sprintf("%s (%.1f s)", name, took.Seconds()))
}

// RESTConfig returns a client configuration of the cluster's administrator.
func (s *Sandbox) RESTConfig() *rest.Config { return s.plane.RESTConfig() }

// RestartAPIServer kills the API server, as a crash would, and starts it again; it
// returns once it is ready.
func (s *Sandbox) RestartAPIServer(ctx context.Context) error { return s.plane.RestartAPIServer(ctx) }

// Audit returns the requests that Options.AuditUser has made of the API server, in
// order. After Stop they are complete, if the state folder is still there.
func (s *Sandbox) Audit() ([]plane.AuditEvent, error) { return plane.ReadAudit(s.Dir) }

// Died is closed when a component of the control plane ends by itself; Err then
// tells which and why.
func (s *Sandbox) Died() <-chan struct{} { return s.plane.Died() }

// Err returns why a component ended, and nil while all run.
func (s *Sandbox) Err() error { return s.plane.Err() }

// Env returns the variables by which kubectl, Terraform, AWS clients and Packhorse
// itself reach the sandbox as its administrator, each as NAME=value.
func (s *Sandbox) Env() []string {
	accessKeyID, secret := s.Cloud.AdminCredentials()
	return []string{
		"KUBECONFIG=" + s.Kubeconfig,
		"AWS_ENDPOINT_URL=" + s.AWSEndpoint,
		// The web-identity step of the SDKs' default chain reads only this one.
		"AWS_ENDPOINT_URL_STS=" + s.AWSEndpoint,
		"AWS_REGION=" + s.Region,
		"AWS_ACCESS_KEY_ID=" + accessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + secret,
		// Nothing else on the machine may lend its credentials.
		"AWS_EC2_METADATA_DISABLED=true",
		"PACKHORSE_SANDBOX_CONTROL=" + s.ControlEndpoint,
		"PACKHORSE_SANDBOX_CLUSTER=" + s.ClusterName,
	}
}

// Stop ends everything, the last started first, and removes a temporary state
// folder. It may be called again.
func (s *Sandbox) Stop() error {
	s.stopOnce.Do(func() {
		var errs []error
		for _, closeOne := range slices.Backward(s.closers) {
			errs = append(errs, closeOne())
		}
		if s.temporary {
			errs = append(errs, os.RemoveAll(s.Dir))
		}
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}
