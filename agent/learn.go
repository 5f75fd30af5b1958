package agent

import (
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// learn passes on what the kubelets of nodes that are up have reported, once for
// each node, so that the next prediction for their type and image is right. If a device
// plugin reports more devices later, these are passed on as well.
func (a *Agent) learn(v *view.View) {
	for n := range v.Snapshot.EachNode() {
		p := v.ByName[n.Provisioner]
		if p == nil || p.Market.ProfileHash == "" || !n.Initialized || !n.Ready || n.Deleting {
			continue
		}
		before, known := a.history.learnt[n.Name]
		if known && !moreDevices(n.Allocatable, before) {
			continue
		}
		a.history.learnt[n.Name] = n.Allocatable
		if !known {
			a.compare(n, p)
		}
		o := offer.Observed{
			Node: n.Name, InstanceType: n.Labels[api.LabelInstanceType], ImageID: n.Labels[api.LabelInstanceAMIID],
			Capacity: n.Capacity, Provisioner: n.Provisioner, Profile: p.Profile,
		}
		if n.Annotations[api.AnnotationProvisionerHash] != p.Raw.Hash() {
			continue // its kubelet runs with other settings
		}
		if n.Annotations[api.AnnotationProfileHash] == p.Market.ProfileHash {
			o.Allocatable = n.Allocatable
		}
		o.Kubelet = p.Spec.Spec.KubeletConfiguration
		a.cloud.Learn(o)
	}
	exportLearnt(a.metrics, a.cloud.Learnt())
}

// moreDevices reports whether a node has more of a device than before.
func moreDevices(now, before amount.List) bool {
	for name, v := range now {
		if v > before[name] && amount.Extended(name) {
			return true
		}
	}
	return false
}

// compare notes how far the prediction for the node's type was off. A kubelet that
// has less than was predicted may refuse pods, which are then planned again.
func (a *Agent) compare(n *cluster.Node, p *view.Provisioner) {
	t := p.InstanceType(n.Labels[api.LabelInstanceType])
	if t == nil {
		return
	}
	predicted := t.Allocatable()
	for _, name := range predicted.Names() {
		if name == amount.EphemeralStorage || amount.Extended(name) && n.Allocatable[name] == 0 {
			continue // file systems are smaller than their volumes, and a kubelet does not report what a driver provides
		}
		if short := predicted[name] - n.Allocatable[name]; short > 0 {
			a.log.Info("found less capacity than predicted", "node", n.Name, "instance_type", t.Name, "resource", name,
				"predicted", predicted[name], "allocatable", n.Allocatable[name])
			a.metrics.Shortfalls.WithLabelValues(t.Name, name).Inc()
		}
	}
}
