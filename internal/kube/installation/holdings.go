package installation

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
)

// Holdings returns what depends on the installation: all Provisioners and node profiles, and the
// nodes that agents have bought.
func (k *Keeper) Holdings(ctx context.Context) (out install.Holdings, err error) {
	if out.Objects, err = k.customObjects(ctx); err == nil {
		var nodes []corev1.Node
		nodes, err = k.nodes(ctx)
		out.Nodes = bought(nodes)
	}
	return out, err
}

// bought describes nodes that agents have bought.
func bought(nodes []corev1.Node) []install.Node {
	out := make([]install.Node, 0, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		out = append(out, install.Node{
			Name: n.Name, Instance: n.Spec.ProviderID, Provisioner: n.Labels[api.LabelProvisioner], NodePool: ofNodePool(n), Leaving: n.DeletionTimestamp != nil,
		})
	}
	return out
}

// ofNodePool reports whether a node belongs to a NodePool. Its label of Provisioners has the name
// of the NodePool.
func ofNodePool(n *corev1.Node) bool { return n.Labels[api.LabelNodePool] != "" }

// nodes lists the nodes that agents have made or taken over. It leaves out nodes of others that have the label.
func (k *Keeper) nodes(ctx context.Context) ([]corev1.Node, error) {
	nodes, err := call.Get(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return k.typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: api.LabelProvisioner})
	})
	if err != nil {
		return nil, fmt.Errorf("list the agent's nodes: %w", err)
	}
	return slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool { return !cluster.Managed(&n) }), nil
}

// customObjects lists the Provisioners and then the node profiles.
func (k *Keeper) customObjects(ctx context.Context) (out []install.Object, err error) {
	for _, kind := range []struct {
		name     string
		resource schema.GroupVersionResource
	}{{api.ProvisionerKind, api.ProvisionerGVR}, {api.NodeTemplateKind, api.NodeTemplateGVR}} {
		all, err := survey.Objects(ctx, k.objects, kind.resource)
		if err != nil {
			return nil, err
		}
		for _, u := range all {
			out = append(out, install.Object{Kind: kind.name, Name: u.GetName(), Leaving: u.GetDeletionTimestamp() != nil})
		}
	}
	return out, nil
}
