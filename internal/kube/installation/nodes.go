package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/declare"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
)

// ErrNoAgent says that nobody is there to drain nodes and give their machines back.
var ErrNoAgent = errors.New("no agent is running that could drain them")

// Node is a node that the agent has bought.
type Node struct{ Name, Instance, Provisioner string }

// Nodes lists the nodes that agents have bought, in the order of their names.
func (k *Keeper) Nodes(ctx context.Context) ([]Node, error) {
	nodes, err := k.nodes(ctx)
	out := make([]Node, 0, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		out = append(out, Node{n.Name, n.Spec.ProviderID, n.Labels[api.LabelProvisioner]})
	}
	return out, err
}

func (k *Keeper) nodes(ctx context.Context) ([]corev1.Node, error) {
	nodes, err := call.Get(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return k.typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: api.LabelProvisioner})
	})
	if err != nil {
		return nil, fmt.Errorf("list the agent's nodes: %w", err)
	}
	return nodes.Items, nil
}

// provisioners lists the Provisioners, none where the kind is not installed.
func (k *Keeper) provisioners(ctx context.Context) ([]unstructured.Unstructured, error) {
	list, err := call.Get(ctx, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		return k.objects.Resource(api.ProvisionerGVR).List(ctx, metav1.ListOptions{})
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the Provisioners: %w", err)
	}
	return list.Items, nil
}

// Drain deletes all Provisioners, so that nothing is bought any more, and waits
// until the agent has drained their nodes and given the machines back. Without
// an agent that could, nothing is deleted: ErrNoAgent.
func (k *Keeper) Drain(ctx context.Context, progress func(remaining []string)) error {
	provisioners, err := k.provisioners(ctx)
	if err != nil {
		return err
	}
	nodes, err := k.nodes(ctx)
	if err != nil {
		return err
	}
	store := declare.NewStore(k.objects, declare.Kind{Name: api.ProvisionerKind, Resource: api.ProvisionerGVR}, k.manager)
	watch := teardown.NewWatch(k.typed, store, k.roster)
	held := slices.ContainsFunc(provisioners, func(p unstructured.Unstructured) bool { return slices.Contains(p.GetFinalizers(), api.Finalizer) })
	if len(nodes) > 0 || held {
		alive, err := watch.AgentAlive(ctx, time.Now())
		if err != nil {
			return err
		}
		if !alive {
			return fmt.Errorf("it has %d nodes and %w", len(nodes), ErrNoAgent)
		}
	}
	names := map[string]bool{}
	for i := range provisioners {
		p := &provisioners[i]
		names[p.GetName()] = true
		if err := store.Delete(ctx, p.GetName(), p.GetUID(), metav1.DeletePropagationForeground); err != nil {
			return err
		}
	}
	for i := range nodes {
		if owner := nodes[i].Labels[api.LabelProvisioner]; !names[owner] {
			err := call.Do(ctx, func(ctx context.Context) error {
				return k.typed.CoreV1().Nodes().Delete(ctx, nodes[i].Name, metav1.DeleteOptions{})
			})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("delete node %s: %w", nodes[i].Name, err)
			}
		}
	}
	for i := range nodes {
		names[nodes[i].Labels[api.LabelProvisioner]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := watch.Wait(ctx, name, progress); err != nil {
			return fmt.Errorf("the nodes of provisioner %s: %w", name, err)
		}
	}
	return nil
}

// Release lets go of all nodes and Provisioners without draining: their
// finalizers and the nodes' owner references are taken off, so that nothing waits for
// an agent. The agent must have ended. The nodes' machines go on running, and
// are returned.
func (k *Keeper) Release(ctx context.Context) ([]Node, error) {
	nodes, err := k.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if err := k.releaseNode(ctx, n.Name); err != nil {
			return nil, err
		}
	}
	provisioners, err := k.provisioners(ctx)
	if err != nil {
		return nil, err
	}
	for i := range provisioners {
		if err := k.releaseProvisioner(ctx, provisioners[i].GetName()); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func (k *Keeper) releaseNode(ctx context.Context, name string) error {
	err := call.DoIf(ctx, call.Conflicting, func(ctx context.Context) error {
		n, err := k.typed.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		owners := slices.DeleteFunc(slices.Clone(n.OwnerReferences), func(o metav1.OwnerReference) bool { return o.Kind == api.ProvisionerKind })
		patch, err := releasePatch(n.ResourceVersion, n.Finalizers, owners)
		if err != nil {
			return err
		}
		_, err = k.typed.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: k.manager.Name})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("let go of node %s: %w", name, err)
	}
	return nil
}

func (k *Keeper) releaseProvisioner(ctx context.Context, name string) error {
	client := k.objects.Resource(api.ProvisionerGVR)
	err := call.DoIf(ctx, call.Conflicting, func(ctx context.Context) error {
		p, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		patch, err := releasePatch(p.GetResourceVersion(), p.GetFinalizers(), p.GetOwnerReferences())
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: k.manager.Name})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("let go of Provisioner %s: %w", name, err)
	}
	return nil
}

// releasePatch replaces lists as a whole, hence the resource version.
func releasePatch(version string, finalizers []string, owners []metav1.OwnerReference) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": version, "ownerReferences": owners,
		"finalizers": slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == api.Finalizer }),
	}})
}
