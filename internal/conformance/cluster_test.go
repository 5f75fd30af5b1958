package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
)

const (
	// patience bounds every wait. The node controller takes nodes without a
	// kubelet for dead after 40 seconds, so that a longer one would not help.
	patience = 30 * time.Second
	poll     = 10 * time.Millisecond
)

// lab is a real control plane in which nothing runs between the cases.
type lab struct {
	client kubernetes.Interface
}

// withLab starts a control plane, runs and stops it.
func withLab(run func(*lab) int) (code int, err error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	p, err := plane.Start(ctx, plane.Config{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	config := p.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // odd constraints are what we are after
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	l := &lab{client: client}
	if err := l.furnish(ctx); err != nil {
		return 0, err
	}
	return run(l), nil
}

// furnish creates what all cases share.
func (l *lab) furnish(ctx context.Context) error {
	if _, err := l.client.SchedulingV1().PriorityClasses().Create(ctx, important, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, n := range namespaces {
		if _, err := l.client.CoreV1().Namespaces().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return err
		}
		// Pods are refused before the namespace has its ServiceAccount.
		err := l.await(ctx, "the service account of "+n.Name, func(ctx context.Context) (bool, error) {
			_, err := l.client.CoreV1().ServiceAccounts(n.Name).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil
		})
		if err != nil {
			return err
		}
	}
	return l.addVolumes(ctx)
}

// await polls until the condition holds.
func (l *lab) await(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, poll, patience, true, condition); err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// atOnce deletes pods without waiting for a kubelet.
var atOnce = metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}

// clear removes everything that a case made.
func (l *lab) clear(ctx context.Context) error {
	return l.await(ctx, "an empty cluster", func(ctx context.Context) (bool, error) {
		left := 0
		// DaemonSets first: their controller replaces the pods that it loses.
		for _, ns := range namespaces {
			sets := l.client.AppsV1().DaemonSets(ns.Name)
			list, err := sets.List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for i := range list.Items {
				left++
				if err := sets.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
					return false, err
				}
			}
			pods := l.client.CoreV1().Pods(ns.Name)
			there, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			if left += len(there.Items); len(there.Items) > 0 {
				if err := pods.DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
					return false, err
				}
			}
		}
		nodes, err := l.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		if left += len(nodes.Items); len(nodes.Items) > 0 {
			if err := l.client.CoreV1().Nodes().DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
				return false, err
			}
		}
		return left == 0, nil
	})
}

// addNodes creates nodes that are up, with tickets, and returns once the scheduler
// knows them.
func (l *lab) addNodes(ctx context.Context, nodes []*corev1.Node) error {
	for _, n := range nodes {
		n = n.DeepCopy()
		n.Finalizers = nil // no agent is there to remove them
		for _, list := range []corev1.ResourceList{n.Status.Allocatable, n.Status.Capacity} {
			list[ticketFor(n.Name)] = tickets
			if _, closed := list[admission]; !closed {
				list[admission] = tickets
			}
		}
		n.Status.Conditions = []corev1.NodeCondition{condition(corev1.ConditionTrue)}
		if _, err := l.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node %s: %w", n.Name, err)
		}
		// The API server taints new nodes until their kubelet has reported.
		taints := n.Spec.Taints
		if taints == nil {
			taints = []corev1.Taint{}
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
		if err != nil {
			return err
		}
		if _, err := l.client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("set the taints of node %s: %w", n.Name, err)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	return l.probe(ctx, nodes[len(nodes)-1])
}

// repelled is in the scheduler's message where nothing but a running pod keeps
// another from a node: that is what it looks at last.
const repelled = "existing pods anti-affinity"

// apart is in it where a pod's own anti-affinity keeps it off the last node that is left.
const apart = "pod anti-affinity rules"

// probe returns once the scheduler uses a node. It hears of nodes in the order of
// their changes: once it uses the last one, it knows all.
func (l *lab) probe(ctx context.Context, n *corev1.Node) error {
	probe := probeFor(n)
	var v verdict
	err := l.await(ctx, "the scheduler to use node "+n.Name, func(ctx context.Context) (bool, error) {
		got, err := l.tryAll(ctx, []*corev1.Pod{probe})
		if err != nil {
			return false, err
		}
		v = got[keyOf(probe)]
		return v.node == n.Name || strings.Contains(v.message, repelled), l.remove(ctx, probe)
	})
	if err != nil {
		return fmt.Errorf("%w; the scheduler says %q", err, v.message)
	}
	return nil
}

// probeFor is a pod that goes to the node, and takes nothing of it, as soon as the
// scheduler knows the node with its final taints.
func probeFor(n *corev1.Node) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[0].Name, Name: "probe"}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
	for _, t := range append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpExists, Effect: t.Effect})
	}
	return withTicket(pod, n.Name)
}

func (l *lab) remove(ctx context.Context, pods ...*corev1.Pod) error {
	for _, p := range pods {
		err := l.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, atOnce)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete pod %s/%s: %w", p.Namespace, p.Name, err)
		}
	}
	return nil
}

// verdict is what the scheduler did with a pod: a node, or why there is none.
type verdict struct {
	node    string
	message string
}

// tryAll creates the pods in their order and returns what the scheduler did with
// each.
func (l *lab) tryAll(ctx context.Context, pods []*corev1.Pod) (map[string]verdict, error) {
	for _, p := range pods {
		if _, err := l.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create pod %s: %w", keyOf(p), err)
		}
	}
	var out map[string]verdict
	err := l.await(ctx, fmt.Sprintf("the scheduler to look at %d pods", len(pods)), func(ctx context.Context) (bool, error) {
		var err error
		out, err = l.verdicts(ctx)
		if err != nil {
			return false, err
		}
		for _, p := range pods {
			if _, ok := out[keyOf(p)]; !ok {
				return false, nil
			}
		}
		return true, nil
	})
	return out, err
}

// verdicts returns what the scheduler did with the pods that it has looked at.
func (l *lab) verdicts(ctx context.Context) (map[string]verdict, error) {
	out := map[string]verdict{}
	for _, ns := range namespaces {
		list, err := l.client.CoreV1().Pods(ns.Name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if v, looked := verdictOn(&list.Items[i]); looked {
				out[keyOf(&list.Items[i])] = v
			}
		}
	}
	return out, nil
}

// verdictOn returns what the scheduler did with a pod, or false while it has not
// looked at it.
func verdictOn(p *corev1.Pod) (verdict, bool) {
	if p.Spec.NodeName != "" {
		return verdict{node: p.Spec.NodeName}, true
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			return verdict{message: c.Message}, true
		}
	}
	return verdict{}, false
}

func keyOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
