// Package handback gives the machines of NodePools back to Karpenter, which manages them when it is
// started again. It drains and restarts nothing. Neither the agent nor Karpenter may run meanwhile.
//
// Each machine goes through four steps, in this order, and each step can be repeated.
//
//  1. A NodeClaim is made for it, with a status that says that the machine was launched.
//     For a NodeClaim without that, Karpenter would launch another machine.
//  2. The instance gets the tags by which Karpenter finds its machines. This must come after
//     step 1, because Karpenter terminates instances that have these tags but no NodeClaim.
//  3. The node gets the NodeClaim as its owner. It loses the agent's marks, and its pods lose
//     those by which their owners end them before others. Deployments that were scaled up to
//     move pods off the node are scaled back.
//  4. The instance loses the tags of the agent, which then leaves it alone. Up
//     to here, the agent would take everything over again.
package handback

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/surge"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// Claims makes NodeClaims.
type Claims interface {
	// MakeNodeClaim creates a NodeClaim with its status, and returns its UID. One that is
	// there for the same machine is taken as it is.
	MakeNodeClaim(ctx context.Context, object, status map[string]any) (uid string, err error)
}

// Nodes changes Node objects.
type Nodes interface {
	// PatchNode returns cluster.ErrGone if there is no such node.
	PatchNode(ctx context.Context, name string, change cluster.NodeChange) error
}

// Pods changes the pods of nodes.
type Pods interface {
	// PodsOn returns the pods that are bound to a node.
	PodsOn(ctx context.Context, node string) ([]cluster.Pod, error)
	// Steer with grade 0 takes the agent's mark off a pod. A pod that is gone is fine.
	Steer(ctx context.Context, pod cluster.PodKey, grade int) error
}

// Machines are the cluster's instances.
type Machines interface {
	// GiveBack gives an instance the tags by which Karpenter finds it.
	GiveBack(ctx context.Context, id, nodePool, nodeClass string) error
	// LetGo takes the tags off an instance that make it the agent's.
	LetGo(ctx context.Context, id string) error
}

// Ports are what is changed. All are to be set.
type Ports struct {
	Claims      Claims
	Nodes       Nodes
	Pods        Pods
	Deployments surge.Deployments
	Machines    Machines
}

// Machine is one that is handed back to Karpenter.
type Machine struct {
	Instance offer.Instance
	Node     *cluster.Node // nil: it has none yet
	Pool     map[string]any
}

// Find returns the running machines of NodePools, in the order of the instances. Machines of
// Provisioners stay with the agent, also those of a Provisioner that has the name of a NodePool: their nodes
// lack the label of NodePools. While both exist, a machine without a node counts as one of the Provisioner.
//
// Unlisted are the names of the nodes of NodePools whose machines are not among the instances. EC2 leaves
// a machine out of its answers for a moment after the launch, or the machine has ended and the node will
// be deleted soon. Unlabelled are the names of the nodes that lack the label, and whose machines have the name of a NodePool
// and of no Provisioner: nobody manages them once the agent has gone.
func Find(instances []offer.Instance, nodes []cluster.Node, nodePools []map[string]any, provisioners []*api.Provisioner) (out []Machine, unlisted, unlabelled []string) {
	pools := map[string]map[string]any{}
	for _, p := range nodePools {
		pools[kinds.NameOf(p)] = p
	}
	for n := range nodes {
		listed := func(i offer.Instance) bool { return i.ProviderID == nodes[n].ProviderID }
		if pools[nodes[n].Provisioner] != nil && nodes[n].OfNodePool() && !slices.ContainsFunc(instances, listed) {
			unlisted = append(unlisted, nodes[n].Name)
		}
	}
	for _, i := range instances {
		if !i.Runs() || pools[i.Provisioner] == nil {
			continue
		}
		m := Machine{Instance: i, Pool: pools[i.Provisioner]}
		if at := slices.IndexFunc(nodes, func(n cluster.Node) bool { return n.ProviderID == i.ProviderID }); at >= 0 {
			m.Node = &nodes[at]
		}
		named := func(p *api.Provisioner) bool { return p.Name == i.Provisioner && p.Source == nil }
		ofProvisioner := slices.ContainsFunc(provisioners, named)
		switch labelled := m.Node != nil && m.Node.OfNodePool(); {
		case labelled || m.Node == nil && !ofProvisioner:
			out = append(out, m)
		case !ofProvisioner:
			unlabelled = append(unlabelled, m.Node.Name)
		}
	}
	return out, unlisted, unlabelled
}

// Give gives one machine back.
func (p Ports) Give(ctx context.Context, m Machine, now time.Time) error {
	claim, err := karpenter.ClaimFor(m.Pool, m.Instance, m.Node, now)
	if err != nil {
		return err
	}
	uid, err := p.Claims.MakeNodeClaim(ctx, claim.Object, claim.Status)
	if err != nil {
		return err
	}
	if err := p.Machines.GiveBack(ctx, m.Instance.ID, m.Instance.Provisioner, claim.NodeClass); err != nil {
		return err
	}
	if m.Node != nil {
		if err := p.unmark(ctx, m.Node.Name); err != nil {
			return fmt.Errorf("give node %s back: %w", m.Node.Name, err)
		}
		if err := surge.Undo(ctx, p.Deployments, m.Node); err != nil {
			return fmt.Errorf("give node %s back: %w", m.Node.Name, err)
		}
		if err := p.Nodes.PatchNode(ctx, m.Node.Name, change(claim, uid)); err != nil {
			return fmt.Errorf("give node %s back: %w", m.Node.Name, err)
		}
	}
	return p.Machines.LetGo(ctx, m.Instance.ID)
}

// unmark removes the agent's deletion costs from the pods of a node.
func (p Ports) unmark(ctx context.Context, node string) error {
	pods, err := p.Pods.PodsOn(ctx, node)
	if err != nil {
		return err
	}
	for i := range pods {
		if pods[i].Steered == 0 {
			continue
		}
		if err := p.Pods.Steer(ctx, pods[i].PodKey, 0); err != nil {
			return err
		}
	}
	return nil
}

// change makes a node of the agent a node of Karpenter. It removes all annotations of the agent, so that
// none is out of date if the agent takes the node over again.
func change(claim karpenter.Claim, uid string) cluster.NodeChange {
	name := kinds.NameOf(claim.Object)
	version, _ := claim.Object["apiVersion"].(string)
	return cluster.NodeChange{
		SetLabels: map[string]string{
			api.LabelRegistered: "true", api.LabelNodeClass: claim.NodeClass,
		},
		RemoveLabels: []string{api.LabelProvisioner},
		RemoveAnnotations: []string{
			api.AnnotationLaunchID, api.AnnotationProvisionerHash, api.AnnotationProfileHash, api.AnnotationHourlyPrice,
			api.AnnotationSubnet, api.AnnotationSecurityGroups, api.AnnotationEmptiness, api.AnnotationLaunchReason,
			api.AnnotationDisruption, api.AnnotationReplacedBy, api.AnnotationDisruptedAt, api.AnnotationDisruptedWith,
			api.AnnotationGracePeriod, api.AnnotationSurging, api.AnnotationInterrupted, api.AnnotationRemade,
		},
		RemoveTaints: []corev1.Taint{drain.Taint},
		Guide:        new(int),
		Owner: &metav1.OwnerReference{
			APIVersion: version, Kind: kinds.NodeClaimKind, Name: name, UID: types.UID(uid), BlockOwnerDeletion: ptr.To(true),
		},
	}
}
