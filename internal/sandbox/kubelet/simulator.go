// Package kubelet simulates what happens on an instance between its launch and the
// moment its node is Ready: the machine boots, its user data is read, the kubelet
// connects to the API server that the user data names, and registers its node.
// From there kwok plays the kubelet, for which the Node object gets kwok's label.
//
// A node whose user data is wrong does not come up, and the reason can be read.
package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// requestTimeout bounds each request of a kubelet.
	requestTimeout = 10 * time.Second
	// firstRetry and lastRetry bound the wait between tries to register: a kubelet
	// never gives up.
	firstRetry, lastRetry = 200 * time.Millisecond, 7 * time.Second
)

// Machine is a launched instance.
type Machine struct {
	ID              string
	Type            string // instance type
	ImageID         string
	Zone            string
	PrivateIP       string
	PrivateDNSName  string // becomes the node's name
	InstanceProfile string // name or ARN
	UserData        []byte // decoded
	// Volumes are the sizes of the disks by device name, in GiB.
	Volumes map[string]int32
	EFAs    int32 // Elastic Fabric Adapters
}

func (m Machine) providerID() string { return fmt.Sprintf("aws:///%s/%s", m.Zone, m.ID) }

// Config describes the world in which machines boot.
type Config struct {
	ClusterName string
	Region      string
	Catalogue   []byte        // CSV of instance types with a header row
	BootDelay   time.Duration // from the launch to the kubelet's first request
	// MemoryOverhead is the share of a machine's memory that its kubelet does not
	// see.
	MemoryOverhead float64
	// Admin reaches the API server as its administrator, who may impersonate nodes.
	Admin *rest.Config
	// KubeletLabel and its value make kwok play the kubelet of a Node object.
	KubeletLabel, KubeletLabelValue string
	// ImageName returns the name of an image, which tells what software is on it.
	ImageName func(ctx context.Context, imageID string) (string, error)
	// Running is called when an instance has booted.
	Running func(instanceID string)
	Logger  hclog.Logger
}

// Phase is how far a node has come.
type Phase string

// The phases of a node.
const (
	Booting    Phase = "Booting"
	Registered Phase = "Registered"
	Failed     Phase = "Failed" // not up, for the reason given; it goes on trying where a kubelet would
	Stopped    Phase = "Stopped"
)

// Status is the state of one machine's node.
type Status struct {
	InstanceID string    `json:"instanceID"`
	Node       string    `json:"node"`
	Phase      Phase     `json:"phase"`
	Reason     string    `json:"reason,omitempty"`
	Since      time.Time `json:"since"`
}

// Simulator boots machines. It is safe for concurrent use.
type Simulator struct {
	config Config
	types  map[string]machineType
	admin  kubernetes.Interface
	// version is the kubelets': images are published for the cluster's version.
	version string
	ctx     context.Context // of all machines
	cancel  context.CancelFunc
	boots   sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]*powered // by instance ID
	// deviceDelay is that of machines that boot from now on; see SetDeviceDelay.
	deviceDelay time.Duration
}

// powered is one machine that was powered on.
type powered struct {
	status Status
	cancel context.CancelFunc // powers the machine off
	off    chan struct{}      // closed when its boot goroutine has ended
}

// New returns a simulator without machines. It must be stopped.
func New(config Config) (*Simulator, error) {
	types, err := readMachineTypes(config.Catalogue)
	if err != nil {
		return nil, err
	}
	admin, err := kubernetes.NewForConfig(config.Admin)
	if err != nil {
		return nil, fmt.Errorf("make client of the API server: %w", err)
	}
	server, err := admin.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its version: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Simulator{
		config: config, types: types, admin: admin, version: server.GitVersion,
		ctx: ctx, cancel: cancel, nodes: map[string]*powered{},
	}, nil
}

// Boot powers a machine on and returns at once. A machine that is on already stays
// as it is.
func (s *Simulator) Boot(m Machine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, on := s.nodes[m.ID]; on || s.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	n := &powered{
		status: Status{InstanceID: m.ID, Node: m.PrivateDNSName, Phase: Booting, Since: time.Now()},
		cancel: cancel, off: make(chan struct{}),
	}
	s.nodes[m.ID] = n
	s.boots.Go(func() {
		defer close(n.off)
		s.boot(ctx, n, m)
	})
}

// Shutdown powers a machine off and returns at once: its kubelet stops answering,
// and the Node object is left to those who own it.
func (s *Simulator) Shutdown(instanceID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := s.nodes[instanceID]
	if !known || n.status.Phase == Stopped || s.ctx.Err() != nil {
		return
	}
	n.status.Phase, n.status.Reason, n.status.Since = Stopped, "", time.Now()
	status := n.status
	s.boots.Go(func() {
		n.cancel()
		<-n.off
		s.killKubelet(status)
	})
}

// killKubelet takes the Node object, if there is one, out of kwok's hands.
func (s *Simulator) killKubelet(status Status) {
	logger := s.config.Logger.With("instance", status.InstanceID, "node", status.Node)
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	err := setLabel(ctx, s.admin, status.Node, s.config.KubeletLabel, nil)
	if err != nil && !apierrors.IsNotFound(err) && s.ctx.Err() == nil {
		logger.Error("kubelet was not stopped", "error", err)
		return
	}
	logger.Info("kubelet stopped")
}

// Nodes returns the state of all machines since the start, the oldest change first.
func (s *Simulator) Nodes() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	statuses := make([]Status, 0, len(s.nodes))
	for _, n := range s.nodes {
		statuses = append(statuses, n.status)
	}
	slices.SortFunc(statuses, func(a, b Status) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.InstanceID, b.InstanceID))
	})
	return statuses
}

// Stop cuts the power of all machines and waits until nothing is going on.
func (s *Simulator) Stop() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.boots.Wait()
}

// set notes how far a node has come, unless its machine is off.
func (s *Simulator) set(n *powered, phase Phase, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.status.Phase == Stopped {
		return
	}
	if n.status.Phase != phase {
		n.status.Since = time.Now()
	}
	n.status.Phase, n.status.Reason = phase, reason
}
