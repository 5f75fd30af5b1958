package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SetDeviceDelay makes the device plugins of machines that boot from now on register that
// long after their kubelets, or never where it is negative. Until then a kubelet reports
// none of the extended resources.
func (s *Simulator) SetDeviceDelay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deviceDelay = d
}

func (s *Simulator) delayOfDevices() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deviceDelay
}

// devices are what device plugins will report, as a patch of a node's status.
type devices struct {
	Capacity    corev1.ResourceList `json:"capacity"`
	Allocatable corev1.ResourceList `json:"allocatable"`
}

// withhold takes the devices out of what a node reports.
func withhold(node *corev1.Node) devices {
	take := func(list corev1.ResourceList) corev1.ResourceList {
		out := corev1.ResourceList{}
		for name, quantity := range list {
			if strings.Contains(string(name), "/") {
				out[name] = quantity
			}
		}
		maps.DeleteFunc(list, func(name corev1.ResourceName, _ resource.Quantity) bool { return strings.Contains(string(name), "/") })
		return out
	}
	return devices{take(node.Status.Capacity), take(node.Status.Allocatable)}
}

// plug reports the devices once their plugins have registered. It ends when the machine is
// powered off.
func (k *kubelet) plug(ctx context.Context) {
	if k.deviceDelay < 0 || !sleep(ctx, k.deviceDelay) {
		return
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := k.report(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		k.simulator.config.Logger.Warn("devices were not reported, trying again", "node", k.node.Name, "reason", err, "after", wait)
		if !sleep(ctx, wait) {
			return
		}
	}
}

func (k *kubelet) report(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	patch, err := json.Marshal(map[string]devices{"status": k.late})
	if err != nil {
		return fmt.Errorf("encode the devices of node %s: %w", k.node.Name, err)
	}
	if _, err := k.api.CoreV1().Nodes().Patch(ctx, k.node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("report the devices of node %s: %w", k.node.Name, err)
	}
	return nil
}
