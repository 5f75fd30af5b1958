package retire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// drifted: its Provisioner or node profile no longer describes it. What is fixed
// when a node is built is compared by hash, where the node has one of ours;
// requirements, image, subnet and security groups by value.
func drifted(n *Node, _ time.Time) (DueNode, bool) {
	d := n.Provisioner.Spec.Disruption
	if d != nil && d.Drift != nil && !*d.Drift || !n.Initialized {
		return DueNode{}, false
	}
	built := n.Annotations[api.AnnotationProvisionerHash]
	hashed := api.IsHash(built)
	if hashed && built != n.Provisioner.Hash() {
		return DueNode{n, Drifted, fmt.Sprintf("provisioner %s has changed since the node was launched", n.Provisioner.Name)}, true
	}
	if built := n.Annotations[api.AnnotationProfileHash]; api.IsHash(built) && n.ProfileHash != "" && built != n.ProfileHash {
		return DueNode{n, Drifted, "its node profile has changed since the node was launched"}, true
	}
	if miss, ok := match.Node(required(n, hashed), n.Node); !ok {
		have := miss.Have
		if have == "" {
			have = "no value"
		}
		return DueNode{n, Drifted, fmt.Sprintf("provisioner %s now requires %s %s, the node has %s", n.Provisioner.Name, miss.Key, miss.Want, have)}, true
	}
	if why := rebuilt(n); why != "" {
		return DueNode{n, Drifted, why}, true
	}
	return DueNode{}, false
}

// required returns what the Provisioner says about the labels of the node. What it leaves to pods
// is not part of that: the node has been bought for a pod that may have chosen another
// value, and its successor would be the same. Nor is the Provisioner's name: if a node of the
// Provisioner lacks it, somebody has removed the label, and it is put back.
func required(n *Node, hashed bool) match.Requirements {
	return slices.DeleteFunc(match.ForProvisioner(withoutNewLabels(n, hashed)), func(q match.Requirement) bool {
		return q.Key == api.LabelProvisioner || n.Provisioner.LeavesToPods(q.Key)
	})
}

// withoutNewLabels returns the node's Provisioner without the labels that the node
// lacks. Where no hash says what the node was built from, it cannot be distinguished from a
// missing label that the Provisioner has changed. A hash says nothing about some.
func withoutNewLabels(n *Node, hashed bool) *api.Provisioner {
	out := *n.Provisioner
	out.Spec.Labels = maps.Clone(out.Spec.Labels)
	maps.DeleteFunc(out.Spec.Labels, func(key, _ string) bool {
		_, has := n.Labels[api.NormalizeLabel(key)]
		return !has && (!hashed || api.Implied(key))
	})
	return &out
}

// rebuilt says how a machine that is built now would differ from the node's in
// what the selectors of its node profile find; an empty string where it would not
// or where that is not known.
func rebuilt(n *Node) string {
	image := n.Labels[api.LabelInstanceAMIID]
	selected := func(a api.AMIStatus) bool { return a.ID == image }
	if image != "" && len(n.Profile.AMIs) > 0 && !slices.ContainsFunc(n.Profile.AMIs, selected) {
		return fmt.Sprintf("image %s is no longer selected", image)
	}
	if image != "" && n.Image != "" && n.Image != image {
		return fmt.Sprintf("new machines get image %s, the machine has %s", n.Image, image)
	}
	subnet := n.Annotations[api.AnnotationSubnet]
	chosen := func(s api.SubnetStatus) bool { return s.ID == subnet }
	if subnet != "" && len(n.Profile.Subnets) > 0 && !slices.ContainsFunc(n.Profile.Subnets, chosen) {
		return fmt.Sprintf("subnet %s is no longer selected", subnet)
	}
	var groups []string
	for _, g := range n.Profile.SecurityGroups {
		groups = append(groups, g.ID)
	}
	slices.Sort(groups)
	has, wanted := n.Annotations[api.AnnotationSecurityGroups], strings.Join(groups, ",")
	if has != "" && wanted != "" && has != wanted {
		return fmt.Sprintf("the security groups selected are %s, the machine has %s", wanted, has)
	}
	return ""
}
