package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// fleetNodes is the number of nodes of Fleet.
const fleetNodes = 2000

// Fleet makes n pods of 1,000 classes for a cluster of 2,000 nodes, on each of
// which a pod takes up to three quarters.
func Fleet(n int) *Workload {
	w := deployments(n, 1000, &Workload{Types: ec2(general)})
	r := random(9)
	middling := ec2(upTo32)
	for i := range fleetNodes {
		t := pick(r, middling...)
		for t.Capacity[amount.CPU] < 4000 {
			t = pick(r, middling...)
		}
		node := existing(fmt.Sprintf("node-%04d", i), &t, pick(r, t.Offerings...))
		room := t.Allocatable()
		used := size{cpu: room[amount.CPU] * r.Int64N(75) / 100, memory: (room[amount.Memory] >> 20) * r.Int64N(75) / 100}
		pod := newPod(fmt.Sprintf("running-%04d", i), used)
		pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning
		w.Nodes, w.Running = append(w.Nodes, node), append(w.Running, pod)
	}
	return w
}

// existing is a machine that was bought before and is up.
func existing(name string, t *offer.InstanceType, o offer.Offering) *corev1.Node {
	labels := map[string]string{}
	for key, values := range t.Labels {
		labels[key] = values[0]
	}
	labels[api.LabelZone], labels[api.LabelCapacityType], labels[api.LabelHostname] = o.Zone, o.CapacityType, name
	labels[api.LabelProvisioner], labels[api.LabelInitialized] = PoolName, "true"
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity: t.Capacity.ResourceList(), Allocatable: t.Allocatable().ResourceList(),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}
