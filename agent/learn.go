package agent

import (
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// learn passes on what the kubelets of nodes that are up have reported, once for
// each node, so that the next prediction for their type and image is right.
func (a *Agent) learn(v *view.View) {
	for i := range v.Snapshot.Nodes {
		n := &v.Snapshot.Nodes[i]
		p := v.ByName[n.Provisioner]
		if p == nil || !n.Initialized || !n.Ready || n.Deleting || a.history.learnt[n.Name] {
			continue
		}
		a.history.learnt[n.Name] = true
		a.compare(n, p)
		o := offer.Observed{
			InstanceType: n.Labels[api.LabelInstanceType], ImageID: n.Labels[api.LabelInstanceAMIID],
			Capacity: n.Capacity, Allocatable: n.Allocatable, ProfileHash: n.Annotations[api.AnnotationProfileHash],
		}
		if n.Annotations[api.AnnotationProvisionerHash] != p.Raw.Hash() {
			continue // its kubelet runs with other settings
		}
		o.Kubelet = p.Spec.Spec.KubeletConfiguration
		a.cloud.Learn(o)
	}
	exportLearnt(a.metrics, a.cloud.Learnt())
}

// compare notes how far the prediction for the node's type was off. A kubelet that
// has less than was predicted may refuse pods, which are then planned again.
func (a *Agent) compare(n *cluster.Node, p *view.Provisioner) {
	t := p.InstanceType(n.Labels[api.LabelInstanceType])
	if t == nil {
		return
	}
	predicted := t.Allocatable()
	for _, name := range []string{amount.CPU, amount.Memory, amount.Pods} {
		if short := predicted[name] - n.Allocatable[name]; short > 0 {
			a.log.Info("found less capacity than predicted", "node", n.Name, "instance_type", t.Name, "resource", name,
				"predicted", predicted[name], "allocatable", n.Allocatable[name])
			a.metrics.Shortfalls.WithLabelValues(t.Name, name).Inc()
		}
	}
}
