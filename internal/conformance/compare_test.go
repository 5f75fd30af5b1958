package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// disagreement is a pod of which we and the scheduler think differently.
type disagreement struct {
	pod       string
	kind      string // refused, accepted, crowded or lost
	ours      string
	scheduler string
}

// The kinds of a disagreement.
const (
	refused  = "refused"  // the scheduler does not accept our placement
	accepted = "accepted" // the scheduler places a pod that we said has no place
	crowded  = "crowded"  // a DaemonSet's pod finds no room on a planned machine
	lost     = "lost"     // the plan removes the node of a pod and has no other place for it
)

func (d disagreement) String() string {
	return fmt.Sprintf("%s: pod %s: we say: %s; kube-scheduler says: %s", d.kind, d.pod, d.ours, d.scheduler)
}

// outcome is what came of a comparison.
type outcome struct {
	disagreements []disagreement
	// As planned and confirmed:
	placed, unplaced, machines, daemons, removed int
}

// planner makes a plan; the tests of the comparison itself use wrong ones.
type planner func(decide.Input) decide.Plan

// compare plans the scenario, makes the plan come true in the control plane, and
// lets the scheduler judge it.
func (l *lab) compare(ctx context.Context, s *scenario, plan planner, r *rand.Rand) (*outcome, error) {
	if err := l.clear(ctx); err != nil {
		return nil, err
	}
	there := settled(s)
	seen, err := l.observe(ctx, s, there)
	if err != nil {
		return nil, err
	}
	in, err := seen.input()
	if err != nil {
		return nil, err
	}
	p := plan(in)
	pick := first
	if r.IntN(2) == 0 {
		pick = anyOf(r)
	}
	machines, err := bought(&in, &p, pick)
	if err != nil {
		return nil, err
	}
	j := &judge{lab: l, scenario: s, nodes: there, pods: slices.Clone(s.Pods), out: &outcome{machines: len(machines)}}
	home := homes(&p)
	if err := j.judgeRemovals(ctx, &p, home); err != nil {
		return nil, err
	}
	if err := j.judgeDaemons(ctx, machines); err != nil {
		return nil, err
	}
	if err := j.judgePlaced(ctx, home, r); err != nil {
		return nil, err
	}
	sale, err := onSale(&in, &p)
	if err != nil {
		return nil, err
	}
	if err := j.judgeUnplaced(ctx, &p, sale); err != nil {
		return nil, err
	}
	return j.out, nil
}

// settled returns the nodes of the scenario as they are once those that are being
// started are up.
func settled(s *scenario) []*corev1.Node {
	var out []*corev1.Node
	for _, n := range s.Nodes {
		n = n.DeepCopy()
		if starting(n) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
				return t.Key == corev1.TaintNodeNotReady || t.Key == startupTaint.Key
			})
		}
		out = append(out, n)
	}
	return out
}

func starting(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

// observe creates what is there before anything is planned, and returns the
// scenario as the API server tells it: with the fields that it fills in and the
// pods of DaemonSets.
func (l *lab) observe(ctx context.Context, s *scenario, nodes []*corev1.Node) (*scenario, error) {
	if err := l.addNodes(ctx, nodes); err != nil {
		return nil, err
	}
	out := s.copy()
	out.Running, out.Pods = nil, nil
	for _, p := range s.Running {
		orphan := p.DeepCopy()
		orphan.OwnerReferences = nil // the garbage collector deletes pods whose controller does not exist
		created, err := l.client.CoreV1().Pods(p.Namespace).Create(ctx, orphan, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("create running pod %s: %w", keyOf(p), err)
		}
		created = bare(created)
		created.OwnerReferences, created.Status = p.OwnerReferences, p.Status
		out.Running = append(out.Running, created)
	}
	for _, d := range s.DaemonSets {
		if _, err := l.client.AppsV1().DaemonSets(d.Namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create daemon set %s: %w", d.Name, err)
		}
	}
	daemons, err := l.awaitDaemons(ctx, s.DaemonSets, nodes)
	if err != nil {
		return nil, err
	}
	for i := range daemons {
		d := &daemons[i]
		k := slices.IndexFunc(s.Nodes, func(n *corev1.Node) bool { return n.Name == d.Spec.NodeName })
		if k >= 0 && !starting(s.Nodes[k]) {
			out.Running = append(out.Running, bare(d))
		}
	}
	for _, p := range s.Pods {
		created, err := l.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, fmt.Errorf("try to create pod %s: %w", keyOf(p), err)
		}
		out.Pods = append(out.Pods, bare(created))
	}
	return out, nil
}

// bare returns a pod without what does not matter to scheduling.
func bare(p *corev1.Pod) *corev1.Pod {
	out := p.DeepCopy()
	out.ManagedFields, out.ResourceVersion, out.Status = nil, "", corev1.PodStatus{}
	return out
}

// judge compares one plan with what the scheduler does.
type judge struct {
	*lab
	scenario *scenario
	nodes    []*corev1.Node // that exist
	pods     []*corev1.Pod  // to be placed
	out      *outcome
}

// judgeDaemons creates the machines. Their DaemonSets must find room.
func (j *judge) judgeDaemons(ctx context.Context, machines []*corev1.Node) error {
	if err := j.addNodes(ctx, machines); err != nil {
		return err
	}
	j.nodes = append(j.nodes, machines...)
	daemons, err := j.awaitDaemons(ctx, j.scenario.DaemonSets, j.nodes)
	if err != nil {
		return err
	}
	for i := range daemons {
		d := &daemons[i]
		planned := slices.ContainsFunc(machines, func(n *corev1.Node) bool { return n.Name == nodeMeant(d) })
		v, _ := verdictOn(d)
		switch {
		case !planned:
		case v.node != "":
			j.out.daemons++
		case !keptOff(v): // which no other machine would help
			j.differ(crowded, keyOf(d), "there is room on "+nodeMeant(d), v.message)
		}
	}
	return nil
}

// homes returns the node of each pod that has a place in the plan.
func homes(p *decide.Plan) map[string]string {
	home := map[string]string{}
	for _, b := range p.Bindings {
		home[b.Pod.String()] = b.Node
	}
	for i := range p.Machines {
		for _, pod := range p.Machines[i].AllPods() {
			home[pod.String()] = p.Machines[i].Name
		}
	}
	return home
}

// judgePlaced sends each pod that has a place to its node.
func (j *judge) judgePlaced(ctx context.Context, home map[string]string, r *rand.Rand) error {
	var pods []*corev1.Pod
	for _, pod := range j.pods {
		if home[keyOf(pod)] != "" {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	why, err := j.placeAll(ctx, pods, home, r)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if message, bad := why[keyOf(pod)]; bad {
			j.differ(refused, keyOf(pod), "goes to "+home[keyOf(pod)], message)
			continue
		}
		j.out.placed++
	}
	return nil
}

// judgeUnplaced adds a node of each kind that is on sale and lets the scheduler try
// the pods that have no place. A placement that was refused leaves room that was
// not to be there, so that there is nothing to compare.
func (j *judge) judgeUnplaced(ctx context.Context, p *decide.Plan, sale []*corev1.Node) error {
	if len(p.Unplaced) == 0 || len(j.out.disagreements) > 0 {
		return nil
	}
	if err := j.addNodes(ctx, sale); err != nil {
		return err
	}
	before := len(j.nodes)
	j.nodes = append(j.nodes, sale...)
	daemons, err := j.awaitDaemons(ctx, j.scenario.DaemonSets, j.nodes)
	if err != nil {
		return err
	}
	reasons := map[string]string{}
	for _, u := range p.Unplaced {
		reasons[u.Pod.String()] = u.Reason
	}
	var pods []*corev1.Pod
	for _, pod := range j.pods {
		if reasons[keyOf(pod)] != "" {
			pods = append(pods, pod)
		}
	}
	got, err := j.tryAll(ctx, withAdmission(pods))
	if err != nil {
		return err
	}
	for _, pod := range pods {
		switch node := got[keyOf(pod)].node; {
		case node == "":
			j.out.unplaced++
		case !j.countsSale(pod, before) && !keepsOffDaemon(node, daemons):
			j.differ(accepted, keyOf(pod), "no place: "+reasons[keyOf(pod)], "goes to "+describe(node, j.nodes))
		}
	}
	return nil
}

// countsSale reports whether a pod's constraints count what is on sale, not all of which
// would be bought: a spread wants more nodes than there were, or a spread or an affinity
// finds the pods that DaemonSets have there.
func (j *judge) countsSale(p *corev1.Pod, nodes int) bool {
	spread := slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(s corev1.TopologySpreadConstraint) bool {
		if s.TopologyKey == corev1.LabelHostname {
			return s.MinDomains != nil && int(*s.MinDomains) > nodes
		}
		return j.findsDaemon(s.LabelSelector, func(namespace string) bool { return namespace == p.Namespace })
	})
	a := p.Spec.Affinity
	return spread || a != nil && a.PodAffinity != nil && slices.ContainsFunc(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		return j.findsDaemon(t.LabelSelector, func(namespace string) bool {
			return namespace == p.Namespace || len(t.Namespaces) > 0 || t.NamespaceSelector != nil
		})
	})
}

// findsDaemon reports whether a selector finds the pods of a DaemonSet in one of the namespaces.
func (j *judge) findsDaemon(of *metav1.LabelSelector, in func(namespace string) bool) bool {
	selector, err := metav1.LabelSelectorAsSelector(of)
	return err == nil && slices.ContainsFunc(j.scenario.DaemonSets, func(d *appsv1.DaemonSet) bool {
		return in(d.Namespace) && selector.Matches(labels.Set(d.Spec.Template.Labels))
	})
}

// keptOff reports whether nothing but anti-affinity keeps the pod of a DaemonSet off its node.
func keptOff(v verdict) bool {
	return strings.Contains(v.message, repelled) || strings.Contains(v.message, apart)
}

// keepsOffDaemon reports whether another pod keeps the pod of a DaemonSet off the node.
// We keep room for it on a machine all the same, since the running pod may go first.
func keepsOffDaemon(node string, daemons []corev1.Pod) bool {
	return slices.ContainsFunc(daemons, func(d corev1.Pod) bool {
		v, _ := verdictOn(&d)
		return nodeMeant(&d) == node && v.node == "" && keptOff(v)
	})
}

func (j *judge) differ(kind, pod, ours, scheduler string) {
	j.out.disagreements = append(j.out.disagreements, disagreement{pod: pod, kind: kind, ours: ours, scheduler: scheduler})
}

// describe names a node with what tells it from others on sale.
func describe(name string, nodes []*corev1.Node) string {
	for _, n := range nodes {
		if n.Name == name {
			l := n.Labels
			return strings.Join([]string{name, l[corev1.LabelInstanceTypeStable], l[corev1.LabelTopologyZone], l["karpenter.sh/capacity-type"], l["karpenter.sh/provisioner-name"]}, " ")
		}
	}
	return name
}
