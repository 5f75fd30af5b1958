package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// sight is what can be seen of the cluster at one moment.
type sight struct {
	pods  []corev1.Pod
	nodes []corev1.Node
}

func look(ctx context.Context, kube kubernetes.Interface) (sight, error) {
	pods, err := kube.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return sight{}, fmt.Errorf("list pods: %w", err)
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: api.LabelProvisioner})
	if err != nil {
		return sight{}, fmt.Errorf("list nodes: %w", err)
	}
	return sight{pods.Items, nodes.Items}, nil
}

// workload returns the pods that are not a DaemonSet's.
func (s sight) workload() []corev1.Pod {
	var out []corev1.Pod
	for _, p := range s.pods {
		if !ownedByDaemonSet(&p) {
			out = append(out, p)
		}
	}
	return out
}

func ownedByDaemonSet(p *corev1.Pod) bool {
	ref := metav1.GetControllerOf(p)
	return ref != nil && ref.Kind == "DaemonSet"
}

// phases counts the workload's pods: all, marked unschedulable, bound, running.
func (s sight) phases() (all, unschedulable, bound, running int) {
	for _, p := range s.workload() {
		all++
		switch {
		case p.Status.Phase == corev1.PodRunning:
			running++
			bound++
		case p.Spec.NodeName != "":
			bound++
		case stage.Unschedulable(&p):
			unschedulable++
		}
	}
	return all, unschedulable, bound, running
}

// table shows each node with its price and how full it is.
func (s sight) table(instances []cloud.Instance) string {
	price := map[string]int64{}
	for _, i := range instances {
		price[i.PrivateDNSName] = i.PriceMicros
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "  \tprovisioner\ttype\tzone\tbought\t$/hour\tpods\tCPU\tmemory")
	for _, n := range s.nodes {
		used, pods := s.used(n.Name)
		_, _ = fmt.Fprintf(w, "  \t%s\t%s\t%s\t%s\t%.4f\t%d\t%s\t%s\n",
			n.Labels[api.LabelProvisioner], n.Labels[api.LabelInstanceType], n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType],
			float64(price[n.Name])/1e6, pods, fullness(used, n.Status.Allocatable, corev1.ResourceCPU), fullness(used, n.Status.Allocatable, corev1.ResourceMemory))
	}
	_ = w.Flush()
	return b.String()
}

func (s sight) used(node string) (corev1.ResourceList, int) {
	sum, pods := corev1.ResourceList{}, 0
	for _, p := range s.pods {
		if p.Spec.NodeName != node {
			continue
		}
		pods++
		for name, q := range resource.PodRequests(&p, resource.PodResourcesOptions{}) {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	return sum, pods
}

func fullness(used, room corev1.ResourceList, name corev1.ResourceName) string {
	u, r := used[name], room[name]
	if r.IsZero() {
		return "-"
	}
	share := u.AsApproximateFloat64() / r.AsApproximateFloat64()
	return fmt.Sprintf("%s %3.0f%%", bar(share), 100*share)
}

// until looks every fifth of a second until done says so, showing progress.
func until(ctx context.Context, kube kubernetes.Interface, limit time.Duration, step func(sight) (done bool)) (sight, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		seen, err := look(ctx, kube)
		if err != nil {
			return seen, err
		}
		if step(seen) {
			return seen, nil
		}
		select {
		case <-ctx.Done():
			all, unschedulable, bound, running := seen.phases()
			return seen, fmt.Errorf("waited %s: %d pods, of which %d unschedulable, %d bound, %d running, on %s: %w",
				limit, all, unschedulable, bound, running, count(len(seen.nodes), "node"), ctx.Err())
		case <-tick.C:
		}
	}
}
