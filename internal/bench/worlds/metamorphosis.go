package worlds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ours"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// metamorphosis changes a world in a way that must not change its plan.
type metamorphosis struct {
	name   string
	change func(*workload.Workload)
}

var metamorphosesOf = []metamorphosis{
	{"a limit that does not bind", addLimit},
	{"a Provisioner that nobody can use", addUselessPools},
	{"a taint that all tolerate", addTolerated},
	{"a label that nobody reads", addLabel},
}

// metamorphoses lists the changes that should leave the plan as it is and do not.
func metamorphoses(w *workload.Workload, budget time.Duration, before *decide.Plan) ([]string, error) {
	want, err := render(before)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range metamorphosesOf {
		changed := clone(w)
		m.change(changed)
		plan := decide.Decide(ours.Input(changed, budget))
		got, err := render(&plan)
		if err != nil {
			return nil, err
		}
		if got != want {
			out = append(out, fmt.Sprintf("%s: %.4f instead of %.4f $/h", m.name, plan.HourlyPrice.Dollars(), before.HourlyPrice.Dollars()))
		}
	}
	return append(out, onePodMore(w, budget, before)...), nil
}

// render writes a plan without what a change may show up in: taints, labels and reasons.
func render(p *decide.Plan) (string, error) {
	plain := *p
	plain.Machines = slices.Clone(p.Machines)
	for i := range plain.Machines {
		plain.Machines[i].Taints, plain.Machines[i].Labels = nil, nil
	}
	plain.Unplaced = slices.Clone(p.Unplaced)
	for i := range plain.Unplaced {
		plain.Unplaced[i].Reason = ""
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return "", fmt.Errorf("encode a plan: %w", err)
	}
	return string(text), nil
}

func clone(w *workload.Workload) *workload.Workload {
	out := *w
	out.Provisioners = nil
	for _, p := range w.Pools() {
		out.Provisioners = append(out.Provisioners, p.DeepCopy())
	}
	return &out
}

const useless = "useless"

func addLimit(w *workload.Workload) {
	for _, p := range w.Provisioners {
		if p.Spec.Limits == nil {
			p.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{}}
		}
		p.Spec.Limits.Resources[corev1.ResourceMemory] = resource.MustParse("1Ei")
	}
}

// addUselessPools adds one that sorts first and comes first by its weight, and one that
// sorts last and has no weight.
func addUselessPools(w *workload.Workload) {
	first, last := w.Provisioners[0].DeepCopy(), w.Provisioners[0].DeepCopy()
	for name, p := range map[string]*api.Provisioner{"aa-" + useless: first, "zz-" + useless: last} {
		p.Name, p.Spec.Weight, p.Spec.Labels = name, nil, nil
		p.Spec.Taints = []corev1.Taint{{Key: useless, Effect: corev1.TaintEffectNoSchedule}, {Key: useless, Effect: corev1.TaintEffectPreferNoSchedule}}
	}
	first.Spec.Weight = ptr.To[int32](100)
	w.Provisioners = append(append([]*api.Provisioner{first}, w.Provisioners...), last)
}

func addTolerated(w *workload.Workload) {
	taint := corev1.Taint{Key: "tolerated", Effect: corev1.TaintEffectNoSchedule}
	for _, p := range w.Provisioners {
		p.Spec.Taints = append(p.Spec.Taints, taint)
	}
	w.Pods, w.Daemons = copied(w.Pods, tolerate(taint)), copied(w.Daemons, tolerate(taint))
}

func tolerate(t corev1.Taint) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpExists})
	}
}

func addLabel(w *workload.Workload) {
	i := 0
	w.Pods = copied(w.Pods, func(p *corev1.Pod) {
		i++
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels["unread"] = strconv.Itoa(i % 3)
	})
}

func copied(pods []*corev1.Pod, change func(*corev1.Pod)) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i, p := range pods {
		out[i] = p.DeepCopy()
		change(out[i])
	}
	return out
}

// onePodMore adds a small pod without constraints: it may cost what a machine of its
// own would, and takes nobody's place. Where others get places too, prices say nothing.
func onePodMore(w *workload.Workload, budget time.Duration, before *decide.Plan) []string {
	changed := clone(w)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "zz-one-more", Namespace: metav1.NamespaceDefault, UID: types.UID("00000000-0000-4000-9000-000000000000")},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		}}}}},
		Status: w.Pods[0].Status,
	}
	alone := clone(w)
	alone.Pods, alone.Nodes, alone.Running = []*corev1.Pod{pod}, nil, nil
	own := decide.Decide(ours.Input(alone, budget))
	changed.Pods = append(slices.Clone(w.Pods), pod)
	plan := decide.Decide(ours.Input(changed, budget))
	var out []string
	if rise := plan.HourlyPrice - before.HourlyPrice; rise > own.HourlyPrice && len(own.Machines) > 0 && len(plan.Unplaced) == len(before.Unplaced) {
		out = append(out, fmt.Sprintf("one pod more: %.4f instead of %.4f $/h, and alone it costs %.4f",
			plan.HourlyPrice.Dollars(), before.HourlyPrice.Dollars(), own.HourlyPrice.Dollars()))
	}
	if len(own.Machines) > 0 && len(plan.Unplaced) > len(before.Unplaced) {
		out = append(out, fmt.Sprintf("one pod more: %d pods have no place instead of %d", len(plan.Unplaced), len(before.Unplaced)))
	}
	return out
}
