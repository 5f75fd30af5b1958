package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

var (
	zones        = []string{region + "a", region + "b", region + "c"}
	typeNames    = []string{"m5.large", "c5.xlarge", "r5.large", "m6g.large", "m5d.xlarge", "g4dn.xlarge", "t3.large"}
	teams        = []string{"red", "blue"}
	tiers        = []string{"gold", "silver"}
	apps         = []string{"a", "b", "c"}
	dedicated    = corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	evicting     = corev1.Taint{Key: "evicting", Value: "y", Effect: corev1.TaintEffectNoExecute}
	soft         = corev1.Taint{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}
	startupTaint = corev1.Taint{Key: "example.com/agent-not-ready", Effect: corev1.TaintEffectNoExecute}
)

const (
	labelTeam = "example.com/team" // of Provisioners
	labelTier = "example.com/tier" // a choice that some Provisioners leave
	labelNone = "example.com/none" // of no node
)

// generator makes up scenarios. The same random numbers give the same scenario.
type generator struct{ *rand.Rand }

// draw makes up the scenario of a seed: every second has pending pods only, and the others take nodes away.
func draw(seed uint64) *scenario {
	switch r := randomOf(seed); seed % 4 {
	case 1:
		return generateUsed(r)
	case 3:
		return generateLeaving(r)
	default:
		return generate(r)
	}
}

func generate(r *rand.Rand) *scenario {
	g := generator{r}
	s := &scenario{Provisioners: g.provisioners()}
	for i := range g.IntN(4) {
		n := g.node(fmt.Sprintf("node-%d", i), s.Provisioners)
		s.Nodes = append(s.Nodes, n)
		if starting(n) {
			continue
		}
		for k := range g.IntN(3) {
			s.Running = append(s.Running, g.runningPod(fmt.Sprintf("running-%d-%d", i, k), n.Name))
		}
	}
	s.DaemonSets = g.daemonSets()
	for i := range 1 + g.IntN(4) {
		s.Pods = append(s.Pods, g.workload(fmt.Sprintf("work-%d", i))...)
	}
	if g.chance(10) {
		s.Pods = append(s.Pods, g.manyPods("many")...)
	}
	return s
}

// chance is true in so many of 100 cases.
func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func oneOf[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

// someOf returns at least one of the list, in its order.
func someOf[T any](g generator, of ...T) []T {
	out := slices.Clone(of)
	for len(out) > 1 && g.chance(60) {
		i := g.IntN(len(out))
		out = slices.Delete(out, i, i+1)
	}
	return out
}

func (g generator) provisioners() []*api.Provisioner {
	out := []*api.Provisioner{g.provisioner("default")}
	if g.chance(40) {
		out = append(out, g.provisioner("other"))
	}
	return out
}

// requirements are those of which a Provisioner may have one more.
var requirements = []api.Requirement{
	{Key: api.LabelInstanceSize, Operator: api.OpNotIn, Values: []string{"xlarge"}},
	{Key: api.LabelArch, Operator: api.OpNotIn, Values: []string{"arm64"}},
	{Key: api.LabelInstanceCPU, Operator: api.OpGt, Values: []string{"3"}},
	{Key: api.LabelInstanceCPU, Operator: api.OpLt, Values: []string{"3"}},
	{Key: api.LabelInstanceLocalNVMe, Operator: api.OpExists},
	{Key: labelTeam, Operator: api.OpNotIn, Values: teams[:1]},
	{Key: labelTeam, Operator: api.OpExists},
	{Key: labelTeam, Operator: api.OpDoesNotExist},
}

func (g generator) provisioner(name string) *api.Provisioner {
	p := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name}}
	in := func(key string, values ...string) {
		p.Spec.Requirements = append(p.Spec.Requirements, api.Requirement{Key: key, Operator: api.OpIn, Values: values})
	}
	in(api.LabelInstanceType, someOf(g, typeNames...)...)
	if named := &p.Spec.Requirements[0]; len(named.Values) > 1 && g.chance(25) {
		named.MinValues = ptr.To(int32(2 + g.IntN(len(named.Values)-1)))
	}
	in(api.LabelArch, "amd64", "arm64")
	if g.chance(30) {
		in(api.LabelCapacityType, someOf(g, api.CapacityOnDemand, api.CapacitySpot)...)
	}
	switch n := g.IntN(100); {
	case n < 30:
		in(api.LabelZone, someOf(g, zones...)...)
	case n < 40:
		p.Spec.Requirements = append(p.Spec.Requirements, api.Requirement{Key: api.LabelZone, Operator: api.OpNotIn, Values: []string{oneOf(g, zones...)}})
	}
	if g.chance(30) {
		in(labelTier, someOf(g, tiers...)...)
	}
	if g.chance(50) {
		p.Spec.Requirements = append(p.Spec.Requirements, oneOf(g, requirements...))
	}
	if p.Spec.Requirements[len(p.Spec.Requirements)-1].Key != labelTeam && g.chance(40) {
		p.Spec.Labels = map[string]string{labelTeam: oneOf(g, teams...)}
	}
	if g.chance(40) {
		p.Spec.Taints = []corev1.Taint{oneOf(g, dedicated, evicting, soft)}
	}
	if g.chance(20) {
		p.Spec.StartupTaints = []corev1.Taint{startupTaint}
	}
	if g.chance(30) {
		p.Spec.Weight = ptr.To(int32(1 + g.IntN(9)))
	}
	if g.chance(25) {
		limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(strconv.Itoa(4 + g.IntN(12)))}
		switch g.IntN(3) {
		case 0:
			limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")} // which binds nothing
		case 1:
			limits[corev1.ResourceMemory] = resource.MustParse(strconv.Itoa(16+g.IntN(48)) + "Gi")
		}
		p.Spec.Limits = &api.Limits{Resources: limits}
	}
	if g.chance(20) {
		p.Spec.KubeletConfiguration = &api.KubeletConfiguration{MaxPods: ptr.To(int32(3 + g.IntN(6)))}
	}
	// Nodes that are there need not be what their Provisioner would buy.
	p.Spec.Disruption = &api.Disruption{Drift: ptr.To(false)}
	return p
}

// catalogue holds the types of which nodes that are there are made.
var catalogue = func() map[string]offer.InstanceType {
	out := map[string]offer.InstanceType{}
	for _, t := range offer.Embedded().Types(offer.Settings{Region: region}) {
		if slices.Contains(typeNames, t.Name) {
			out[t.Name] = t
		}
	}
	return out
}()

// node is one that is there: ours or another's, up or being started, cordoned, or
// without the labels that nodes usually have.
func (g generator) node(name string, provisioners []*api.Provisioner) *corev1.Node {
	t := catalogue[oneOf(g, typeNames...)]
	c := offer.Candidate{InstanceType: t.Name, Zone: oneOf(g, zones...), CapacityType: api.CapacityOnDemand}
	p := oneOf(g, provisioners...)
	if g.chance(50) {
		p = &api.Provisioner{} // somebody else's
	}
	var labels map[string]string
	if p.Name != "" {
		labels = labelChoices(p)[0]
	}
	n := nodeOf(name, &t, c, labels, p.Spec.Taints)
	for _, list := range []corev1.ResourceList{n.Status.Capacity, n.Status.Allocatable} {
		if g.chance(30) {
			list[corev1.ResourcePods] = resource.MustParse(strconv.Itoa(6 + g.IntN(4)))
		}
	}
	switch {
	case p.Name != "" && g.chance(30):
		n.Status.Conditions = []corev1.NodeCondition{condition(corev1.ConditionFalse)}
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
		n.Spec.Taints = append(n.Spec.Taints, p.Spec.StartupTaints...)
		return n
	case p.Name != "":
		n.Labels[api.LabelInitialized] = "true"
	case g.chance(15):
		key := oneOf(g, api.LabelZone, api.LabelHostname, api.LabelInstanceType)
		maps.DeleteFunc(n.Labels, func(name, _ string) bool { return api.NormalizeLabel(name) == key }) // by its deprecated name, too
	case g.chance(30):
		n.Labels[labelTeam] = oneOf(g, teams...)
	}
	switch {
	case g.chance(10):
		n.Spec.Unschedulable = true
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	case g.chance(15):
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "own", Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

// runningPod takes some of a node. Like a pod that was there before the node's
// labels, taints and neighbours, it need not satisfy its own constraints.
func (g generator) runningPod(name, node string) *corev1.Pod {
	p := g.pod(name)
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(int64(100*g.IntN(6)), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("256Mi"),
	}
	for range g.IntN(3) {
		oneOf(g, generator.affinity, generator.antiAffinity, generator.hostPorts, generator.volumes)(g, p)
	}
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return runningOn(p, node)
}

func (g generator) daemonSets() []*appsv1.DaemonSet {
	var out []*appsv1.DaemonSet
	for _, name := range []string{"agent", "logs"} {
		if g.chance(35) {
			out = append(out, g.daemonSet(name))
		}
	}
	return out
}

func (g generator) daemonSet(name string) *appsv1.DaemonSet {
	p := g.pod(name)
	p.Labels["daemon"] = name
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(oneOf(g, "0", "100m", "250m")), corev1.ResourceMemory: resource.MustParse(oneOf(g, "64Mi", "300Mi")),
	}
	switch g.IntN(4) {
	case 0:
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case 1:
		g.nodeSelector(p)
	case 2:
		g.tolerations(p)
	}
	if g.chance(20) {
		g.hostPorts(p)
	}
	if g.chance(15) {
		g.antiAffinity(p)
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"daemon": name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec},
		},
	}
}

// workload is a number of equal pods.
func (g generator) workload(name string) []*corev1.Pod {
	p := g.pod(name)
	g.resources(p)
	for range g.IntN(4) {
		oneOf(g, constraints...)(g, p)
	}
	if g.chance(15) {
		p.Spec.PriorityClassName = important.Name
	}
	return replicas(p, 1+g.IntN(6))
}

// manyPods is a workload that is spread over domains, each of which is an alternative of its own,
// with so many small pods that the spread closes each domain again and again.
func (g generator) manyPods(name string) []*corev1.Pod {
	p := g.pod(name)
	p.Spec.Containers[0].Resources = g.requests(500, 900)
	key, domains := api.LabelZone, zones
	if g.chance(30) {
		key, domains = api.LabelCapacityType, []string{api.CapacityOnDemand, api.CapacitySpot}
	}
	g.spread(p, key)
	required := &corev1.NodeSelector{}
	for _, domain := range domains[g.IntN(len(domains)-1):] {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{domain}}},
		})
	}
	affinityOf(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
	return replicas(p, 20+g.IntN(21))
}

// replicas are so many pods that are equal but for their names.
func replicas(p *corev1.Pod, n int) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range n {
		replica := p.DeepCopy()
		replica.Name = fmt.Sprintf("%s-%d", p.Name, i)
		out = append(out, replica)
	}
	return out
}

func (g generator) pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: oneOf(g, namespaces...).Name, Name: name,
			Labels: map[string]string{"app": oneOf(g, apps...), "version": oneOf(g, "1", "2")},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
}
