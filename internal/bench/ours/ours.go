// Package ours plans a workload with Packhorse's decision core.
package ours

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Input states the workload as the agent would.
func Input(w *workload.Workload, budget time.Duration) decide.Input {
	templates := cluster.NewTemplates()
	s := &cluster.Snapshot{Namespaces: []cluster.Namespace{{Name: metav1.NamespaceDefault}}}
	for _, list := range [][]*corev1.Pod{w.Pods, w.Running} {
		for _, p := range list {
			if pod, ok := templates.Pod(p); ok {
				s.Pods = append(s.Pods, pod)
			}
		}
	}
	for _, n := range w.Nodes {
		s.Nodes = append(s.Nodes, cluster.FromNode(n, nil))
	}
	var sets []*appsv1.DaemonSet
	for _, d := range w.Daemons {
		sets = append(sets, daemonSet(d))
	}
	s.DaemonSets = cluster.FromDaemonSets(sets, s.Pods)
	s.Sort()
	return decide.Input{
		Now: time.Unix(0, 0), Snapshot: s,
		Provisioners: provisioners(w),
		Settings:     decide.Settings{Policy: retire.Policy{StartupTimeout: time.Hour}, NodeCost: decide.DefaultNodeCost, PackingBudget: budget},
	}
}

func daemonSet(p *corev1.Pod) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: p.Spec}},
	}
}

// provisioners are the workload's pools, which sell all of its types.
func provisioners(w *workload.Workload) []decide.Provisioner {
	index := offer.NewIndex(w.Types)
	var out []decide.Provisioner
	for _, p := range w.Pools() {
		out = append(out, decide.Provisioner{Spec: p, Types: w.Types, Index: index})
	}
	return out
}

// Classes is the number of pods that differ in what they ask for.
func Classes(in *decide.Input) int {
	seen := map[*cluster.Template]bool{}
	for i := range in.Snapshot.Pods {
		if p := &in.Snapshot.Pods[i]; p.State == cluster.PodPending {
			seen[p.Template] = true
		}
	}
	return len(seen)
}

// Plan restates a plan for the checker. A pod that the workload does not have is
// an error.
func Plan(w *workload.Workload, p *decide.Plan) (check.Plan, error) {
	index := make(map[string]int, len(w.Pods))
	for i, pod := range w.Pods {
		index[pod.Name] = i
	}
	out := check.Plan{Bindings: map[int]string{}}
	for _, b := range p.Bindings {
		i, ok := index[b.Pod.Name]
		if !ok {
			return check.Plan{}, fmt.Errorf("bind pod %s: there is no such pod", b.Pod)
		}
		if was, twice := out.Bindings[i]; twice {
			return check.Plan{}, fmt.Errorf("bind pod %s: to %s and %s", b.Pod, was, b.Node)
		}
		out.Bindings[i] = b.Node
	}
	for k := range p.Machines {
		m := check.Machine{Candidate: p.Machines[k].Chosen(), Provisioner: p.Machines[k].Provisioner, Labels: p.Machines[k].Labels}
		for _, key := range p.Machines[k].Pods {
			i, ok := index[key.Name]
			if !ok {
				return check.Plan{}, fmt.Errorf("read machine %s: there is no pod %s", p.Machines[k].Name, key)
			}
			m.Pods = append(m.Pods, i)
		}
		slices.Sort(m.Pods)
		out.Machines = append(out.Machines, m)
	}
	return out, nil
}
