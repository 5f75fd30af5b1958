package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

// boot takes a machine from its launch to a registered node, in the order in which
// it happens on a real one, and then keeps its node alive. It ends when the machine
// is powered off, or will never be a node.
func (s *Simulator) boot(ctx context.Context, n *powered, m Machine) {
	if !sleep(ctx, s.config.BootDelay) {
		return
	}
	s.config.Running(m.ID)
	logger := s.config.Logger.With("instance", m.ID, "node", m.PrivateDNSName)
	kubelet, err := s.configure(ctx, m)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		// Nothing will change in what the machine reads at its start.
		s.set(n, Failed, err.Error())
		logger.Warn("node did not come up", "reason", err)
		return
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := kubelet.run(ctx)
		if err == nil {
			s.set(n, Registered, "")
			logger.Info("node registered")
			if kubelet.deviceDelay != 0 {
				s.boots.Go(func() { kubelet.plug(ctx) })
			}
			kubelet.renewLease(ctx)
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.set(n, Failed, err.Error())
		logger.Warn("node did not register, trying again", "reason", err, "after", wait)
		if !sleep(ctx, wait) {
			return
		}
	}
}

// kubelet is what runs on a machine after its user data was read.
type kubelet struct {
	simulator *Simulator
	machine   Machine
	settings  userdata.Settings
	node      *corev1.Node
	api       kubernetes.Interface // with the node's own identity, once it runs
	ownLabels map[string]string
	// late are the devices that it reports deviceDelay after it has registered.
	late        devices
	deviceDelay time.Duration
}

// configure reads the user data and stops at what a node would stumble over before
// its first request.
func (s *Simulator) configure(ctx context.Context, m Machine) (*kubelet, error) {
	machine, ok := s.types[m.Type]
	if !ok {
		return nil, fmt.Errorf("instance type %s is not in the catalogue", m.Type)
	}
	if m.InstanceProfile == "" {
		return nil, errors.New("there is no instance profile: the node has no credentials for the cluster")
	}
	image, err := s.config.ImageName(ctx, m.ImageID)
	if err != nil {
		return nil, err
	}
	family, _ := userdata.FamilyOfImage(image)
	settings, err := userdata.Parse(family, m.UserData)
	if err != nil {
		return nil, err
	}
	if settings.ClusterName != s.config.ClusterName {
		return nil, fmt.Errorf("cluster name is %q, not %q: the API server refuses tokens for another cluster", settings.ClusterName, s.config.ClusterName)
	}
	if settings.Endpoint == "" {
		// The bootstrap scripts ask EKS for what the user data does not say.
		settings.Endpoint, settings.CA = s.config.Admin.Host, s.config.Admin.CAData
	}
	h := newHardware(m, machine, settings, s.config.MemoryOverhead)
	own := ownLabels(m, s.config.Region, h)
	node, err := newNode(m, own, h, settings.Kubelet)
	if err != nil {
		return nil, err
	}
	node.Status.NodeInfo.OSImage = image
	node.Status.NodeInfo.KubeletVersion = s.version
	out := &kubelet{simulator: s, machine: m, settings: settings, node: node, ownLabels: own, deviceDelay: s.delayOfDevices()}
	if out.deviceDelay != 0 {
		out.late = withhold(node)
	}
	return out, nil
}

// run registers the node and hands to kwok what its kubelet does for pods.
func (k *kubelet) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	config := k.simulator.config
	var err error
	if k.api, err = k.client(); err != nil {
		return err
	}
	if err := register(ctx, k.api, k.node, k.ownLabels); err != nil {
		return err
	}
	return setLabel(ctx, k.simulator.admin, k.node.Name, config.KubeletLabel, config.KubeletLabelValue)
}

// client returns a client with the node's own identity, so that the node authorizer
// and the NodeRestriction admission check it; it connects to the endpoint of the
// user data and trusts only the authority of the user data.
func (k *kubelet) client() (kubernetes.Interface, error) {
	config := rest.CopyConfig(k.simulator.config.Admin)
	config.Host = k.settings.Endpoint
	config.CAData, config.CAFile = k.settings.CA, ""
	config.Timeout = requestTimeout
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:node:" + k.machine.PrivateDNSName,
		Groups:   []string{"system:nodes", "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", k.settings.Endpoint, err)
	}
	return client, nil
}

// sleep waits and says whether the machine is still on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
