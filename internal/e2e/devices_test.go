package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// devicesLate has device plugins that register after their kubelets: until then the nodes
// report no GPUs, and nothing more is bought for the pods that wait for them.
func devicesLate(s *scene) {
	s.Sandbox.Kubelets.SetDeviceDelay(5 * time.Second)
	defer s.Sandbox.Kubelets.SetDeviceDelay(0)
	s.apply(provisioner("gpus", `
limits: {resources: {nvidia.com/gpu: "2"}}
requirements:
- {key: karpenter.k8s.aws/instance-category, operator: In, values: [g]}
- {key: karpenter.k8s.aws/instance-gpu-count, operator: In, values: ["1"]}
`))
	s.apply(strings.Replace(deployment("train", "gpus", 2, "500m", "256Mi"), "resources: {", `resources: {limits: {nvidia.com/gpu: "1"}, `, 1))
	s.untilRunning("train", 2)
	s.until("the nodes are initialized", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "gpus")
		up := 0
		for _, n := range nodes {
			if n.Labels["karpenter.sh/initialized"] == "true" {
				up++
			}
		}
		return up == 2, fmt.Sprintf("%d of %d", up, len(nodes)), err
	})
	bought := 0
	for _, i := range s.Sandbox.Cloud.Instances() {
		if i.Tags["karpenter.sh/provisioner-name"] == "gpus" {
			bought++
		}
	}
	if bought != 2 {
		s.t.Errorf("%d machines were bought for two pods with a GPU each", bought)
	}
	s.delete("train")
	s.deleteProvisioner("gpus")
	s.untilNoNodes("gpus")
}
