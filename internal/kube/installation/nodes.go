package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/apply"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
)

// Drain deletes the named Provisioners and waits until the agent has drained their nodes and
// terminated the machines. It also waits for Provisioners that are being deleted, and deletes
// nodes whose Provisioner is gone. Other Provisioners and their nodes stay, and so do the nodes of
// NodePools, unless they are being deleted. Only an agent can drain nodes, and only an agent knows
// whether machines are left of a Provisioner that has its finalizer: if there are such and no agent
// leads, Drain deletes nothing and returns install.ErrNoAgent.
func (k *Keeper) Drain(ctx context.Context, named []string, progress func(remaining []string)) error {
	provisioners, err := survey.Objects(ctx, k.objects, api.ProvisionerGVR)
	if err != nil {
		return err
	}
	nodes, err := k.nodes(ctx)
	if err != nil {
		return err
	}
	leaving := removalOf(provisioners, nodes, named)
	if len(leaving.names) == 0 {
		return nil
	}
	store := apply.NewStore(k.objects, api.CustomKind{Name: api.ProvisionerKind, Resource: api.ProvisionerGVR}, k.manager)
	watch := teardown.NewWatch(k.typed, store, k.names)
	alive, err := k.AgentAlive(ctx, time.Now())
	if err != nil {
		return err
	}
	if !alive && leaving.nodes > 0 {
		return fmt.Errorf("it has nodes (%d), and %w", leaving.nodes, install.ErrNoAgent)
	}
	if !alive && leaving.held != "" {
		return fmt.Errorf("provisioner %s has the finalizer %s, so that machines may be left, and %w", leaving.held, api.Finalizer, install.ErrNoAgent)
	}
	for _, p := range provisioners {
		if !slices.Contains(named, p.GetName()) {
			continue
		}
		if err := store.Delete(ctx, p.GetName(), p.GetUID(), metav1.DeletePropagationForeground); err != nil {
			return err
		}
	}
	for _, name := range leaving.ownerless {
		err := call.Do(ctx, func(ctx context.Context) error {
			return k.typed.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete node %s: %w", name, err)
		}
	}
	if !alive {
		return nil // there is nothing to wait for
	}
	for _, name := range leaving.names {
		if err := watch.Wait(ctx, name, progress); err != nil {
			return fmt.Errorf("the nodes of provisioner %s: %w", name, err)
		}
	}
	return nil
}

// AgentAlive reports whether an agent in any namespace leads.
func (k *Keeper) AgentAlive(ctx context.Context, now time.Time) (bool, error) {
	lease, err := teardown.Held(ctx, k.typed, metav1.NamespaceAll, now)
	return lease != nil, err
}

// removal lists what Drain removes.
type removal struct {
	names     []string // of the Provisioners, sorted
	nodes     int      // of all of them
	ownerless []string // nodes whose Provisioner is gone
	held      string   // a Provisioner that has the agent's finalizer, empty if none has
}

func removalOf(provisioners []*unstructured.Unstructured, nodes []corev1.Node, named []string) (out removal) {
	removed := map[string]bool{} // by the name of an existing Provisioner
	for _, p := range provisioners {
		removed[p.GetName()] = p.GetDeletionTimestamp() != nil || slices.Contains(named, p.GetName())
		if removed[p.GetName()] {
			out.names = append(out.names, p.GetName())
			if slices.Contains(p.GetFinalizers(), api.Finalizer) {
				out.held = p.GetName()
			}
		}
	}
	for i := range nodes {
		n := &nodes[i]
		owner := n.Labels[api.LabelProvisioner]
		ownerRemoved, exists := removed[owner]
		switch {
		case ofNodePool(n) && n.DeletionTimestamp == nil: // the NodePool stays
		case ofNodePool(n):
			out.names = append(out.names, owner)
			out.nodes++
		case !exists:
			out.ownerless = append(out.ownerless, n.Name)
			out.names = append(out.names, owner)
			out.nodes++
		case ownerRemoved:
			out.nodes++
		}
	}
	slices.Sort(out.names)
	out.names = slices.Compact(out.names)
	return out
}

// MayScaleBack returns the error that Release would return because it could not scale Deployments back, such as
// a missing right. It changes nothing.
func (k *Keeper) MayScaleBack(ctx context.Context) error {
	live, err := k.nodes(ctx)
	if err != nil {
		return err
	}
	return k.scaleAllBack(ctx, live, metav1.DryRunAll)
}

// Release removes from all Provisioners and nodes what needs an agent: finalizers, the nodes'
// owner references, the agent's taints, and the deletion costs that it has set on pods. It scales
// Deployments back that were scaled up to move pods off the nodes. It drains nothing, and the machines go on
// running. The agent must have ended. Release returns the nodes.
func (k *Keeper) Release(ctx context.Context) ([]install.Node, error) {
	live, err := k.nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := bought(live)
	if err := k.unmarkPods(ctx, nodes); err != nil {
		return nil, err
	}
	if err := k.scaleAllBack(ctx, live); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if err := k.releaseNode(ctx, n.Name); err != nil {
			return nil, err
		}
	}
	provisioners, err := survey.Objects(ctx, k.objects, api.ProvisionerGVR)
	if err != nil {
		return nil, err
	}
	for _, p := range provisioners {
		if err := k.releaseProvisioner(ctx, p.GetName()); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// change changes an object, unless it is gone.
func change(ctx context.Context, what string, attempt func(context.Context) error) error {
	if err := call.DoIf(ctx, call.Conflicting, attempt); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (k *Keeper) releaseNode(ctx context.Context, name string) error {
	return change(ctx, "remove the finalizer of node "+name, func(ctx context.Context) error {
		n, err := k.typed.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		// With its owner, the garbage collector would delete the node at once, and its pods.
		owners := slices.DeleteFunc(slices.Clone(n.OwnerReferences), cluster.OwnedByAgent)
		patch, err := releasePatch(n.ResourceVersion, n.Finalizers, owners, map[string]any{"taints": withoutMarks(n.Spec.Taints)})
		if err != nil {
			return err
		}
		_, err = k.typed.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: k.manager.Name})
		return err
	})
}

// scaleAllBack scales back the Deployments that were scaled up for pods of the nodes. A dry run passes over those about which a
// webhook cannot be asked.
func (k *Keeper) scaleAllBack(ctx context.Context, nodes []corev1.Node, dryRun ...string) error {
	for i := range nodes {
		for _, r := range cluster.Surges(nodes[i].Annotations) {
			if err := k.scaleBack(ctx, &r, dryRun); err != nil && !unasked(err) {
				return err
			}
		}
	}
	return nil
}

// scaleBack scales a Deployment back that was scaled up for the pods of a node, unless somebody else has scaled it
// since. The marks of the pods come off before: without them, the youngest pods end.
func (k *Keeper) scaleBack(ctx context.Context, r *cluster.Surge, dryRun []string) error {
	return change(ctx, fmt.Sprintf("scale Deployment %s back", r), func(ctx context.Context) error {
		live, err := k.typed.AppsV1().Deployments(r.Namespace).Get(ctx, r.Deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		d := cluster.FromDeployment(live, cluster.Manager)
		if !r.MayUndo(&d) {
			return nil
		}
		_, err = k.typed.AppsV1().Deployments(d.Namespace).UpdateScale(ctx, d.Name, d.Scale(d.Before), metav1.UpdateOptions{FieldManager: k.manager.Name, DryRun: dryRun})
		return err
	})
}

// unmarkPods removes the deletion costs that the agent has set on the pods of nodes.
func (k *Keeper) unmarkPods(ctx context.Context, nodes []install.Node) error {
	for _, n := range nodes {
		pods, err := call.Get(ctx, func(ctx context.Context) (*corev1.PodList, error) {
			on := fields.OneTermEqualSelector("spec.nodeName", n.Name)
			return k.typed.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: on.String()})
		})
		if err != nil {
			return fmt.Errorf("list the pods of node %s: %w", n.Name, err)
		}
		for i := range pods.Items {
			if err := k.unmarkPod(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *Keeper) unmarkPod(ctx context.Context, listed *corev1.Pod) error {
	if _, marked := listed.Annotations[api.AnnotationSteered]; !marked {
		return nil
	}
	return change(ctx, "remove the deletion cost of pod "+listed.Namespace+"/"+listed.Name, func(ctx context.Context) error {
		p, err := k.typed.CoreV1().Pods(listed.Namespace).Get(ctx, listed.Name, metav1.GetOptions{})
		if err != nil || p.UID != listed.UID {
			return err
		}
		patch, err := cluster.SteeringPatch(p, 0)
		if err != nil || patch == nil {
			return err
		}
		_, err = k.typed.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: k.manager.Name})
		return err
	})
}

func (k *Keeper) releaseProvisioner(ctx context.Context, name string) error {
	client := k.objects.Resource(api.ProvisionerGVR)
	return change(ctx, "remove the finalizer of Provisioner "+name, func(ctx context.Context) error {
		p, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		patch, err := releasePatch(p.GetResourceVersion(), p.GetFinalizers(), p.GetOwnerReferences(), nil)
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: k.manager.Name})
		return err
	})
}

// withoutMarks returns the taints without those by which the agent keeps pods away from nodes
// that it wants to empty.
func withoutMarks(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(cluster.WithGuide(taints, 0), func(t corev1.Taint) bool { return t.Key == api.TaintDisruption })
}

// releasePatch returns a merge patch that removes the agent's finalizer and its record of surge, and sets the owner
// references. It contains the resource version, because it replaces these lists as a whole. A nil
// spec leaves the object's spec as it is.
func releasePatch(version string, finalizers []string, owners []metav1.OwnerReference, spec map[string]any) ([]byte, error) {
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": version, "ownerReferences": owners,
		"finalizers":  slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == api.Finalizer }),
		"annotations": map[string]any{api.AnnotationSurging: nil},
	}}
	if spec != nil {
		patch["spec"] = spec
	}
	return json.Marshal(patch)
}
