package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// world draws a cluster that nobody has tuned for: a part of the catalogue, some
// Provisioners, perhaps nodes and DaemonSets, and deployments whose constraints come
// at about the rates of public manifests.
type world struct {
	*rand.Rand
	*Workload
	teams []string
}

// Fewest and most pods of a world. Their number is drawn so that its logarithm is even.
const fewestPods, mostPods = 20, 20_000

// World is that of a seed, with no more pods than that.
func World(seed uint64, atMost int) *Workload {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 1234)), Workload: &Workload{}, teams: []string{"api", "batch", "web"}}
	n := int(fewestPods * math.Pow(float64(min(atMost, mostPods))/fewestPods, w.Float64()))
	w.catalogue()
	w.pools()
	w.daemons()
	for len(w.Pods) < n {
		w.deployment(n - len(w.Pods))
	}
	if w.chance(0.33) {
		w.nodes(1 + w.IntN(60))
	}
	w.limit()
	return w.Workload
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

// catalogue keeps a part of what EC2 sells.
func (w *world) catalogue() {
	categories := pick(w.Rand, []string{"c", "m", "r"}, []string{"c", "m", "r"}, []string{"c", "m", "r", "t"}, []string{"m"}, []string{"c", "m", "r", "g", "p"}, nil)
	generation, largest := 2+w.IntN(4), pick[int64](w.Rand, 8, 16, 32, 64, 96, 1000)
	spot := w.chance(0.6)
	w.Types = sold(
		func(o offer.Offering) bool { return spot || o.CapacityType == api.CapacityOnDemand },
		func(t *offer.InstanceType) bool {
			g, _ := t.Label(api.LabelInstanceGeneration)
			number, err := strconv.Atoi(g)
			return err == nil && number > generation && t.Capacity[amount.CPU] <= largest*1000 &&
				(categories == nil || category(t, categories...))
		})
}

// pools draws the Provisioners: the first takes every pod that selects none of them.
func (w *world) pools() {
	for i := range pick(w.Rand, 1, 1, 1, 2, 2, 3, 4, 6) {
		p := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%d", i)}}
		p.Spec.Requirements = []api.Requirement{oneOf(api.LabelOS, "linux")}
		require := func(share float64, key string, choices ...[]string) {
			if w.chance(share) {
				p.Spec.Requirements = append(p.Spec.Requirements, oneOf(key, pick(w.Rand, choices...)...))
			}
		}
		require(1, api.LabelCapacityType, []string{"on-demand"}, []string{"on-demand"}, []string{"on-demand", "spot"})
		require(1, api.LabelArch, []string{"amd64"}, []string{"amd64", "arm64"}, []string{"amd64", "arm64"})
		if i > 0 {
			require(0.34, api.LabelZone, zones[:1], zones[1:], zones[:2])
			require(0.23, api.LabelInstanceCategory, []string{"c"}, []string{"m", "r"}, []string{"m"})
			require(0.18, api.LabelInstanceFamily, []string{"m5", "c5", "r5"}, []string{"m6i", "m7g"}, []string{"c7g"})
			if w.chance(0.5) {
				p.Spec.Taints = []corev1.Taint{w.taint()}
			}
			if w.chance(0.3) {
				weight := int32(1 + w.IntN(100))
				p.Spec.Weight = &weight
			}
		}
		if w.chance(0.44) {
			p.Spec.Labels = map[string]string{"team": pick(w.Rand, w.teams...)}
		}
		w.Provisioners = append(w.Provisioners, p)
	}
}

func (w *world) taint() corev1.Taint {
	return corev1.Taint{Key: "dedicated", Value: pick(w.Rand, w.teams...), Effect: corev1.TaintEffectNoSchedule}
}

func (w *world) daemons() {
	everywhere := func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }
	for i := range w.IntN(4) {
		options := []option{everywhere}
		switch {
		case w.chance(0.2):
			options = append(options, selecting(api.LabelArch, "arm64"))
		case w.chance(0.2):
			options = nil
		}
		w.Daemons = append(w.Daemons, newPod(fmt.Sprintf("agent-%d", i), size{cpu: 10 * (1 + w.Int64N(20)), memory: 16 * (1 + w.Int64N(16))}, options...))
	}
}

// deployment adds equal pods, at most so many.
func (w *world) deployment(atMost int) {
	s, options := w.template(1)
	for range min(atMost, 1+int(w.ExpFloat64()*pick(w.Rand, 3.0, 10, 30, 200))) {
		w.add(s, options...)
	}
}

// template draws what the pods of a deployment ask for. It has so many times as many
// constraints as those of public manifests.
func (w *world) template(times float64) (size, []option) {
	app := fmt.Sprintf("app-%04d", len(w.Pods))
	options := []option{labelled("app", app)}
	for _, c := range w.constraints(app) {
		if w.chance(c.share * times) {
			options = append(options, c.option)
		}
	}
	return w.size(), options
}

// size is one from public manifests or a drawn one; few ask for a GPU.
func (w *world) size() size {
	s := shape(w.Rand)
	if w.chance(0.3) {
		s = size{cpu: 10 * (1 + w.Int64N(300)), memory: 16 * (1 + w.Int64N(512))}
	}
	if w.chance(0.05) && slices.ContainsFunc(w.Types, func(t offer.InstanceType) bool { return t.Capacity[gpuResource] > 0 }) {
		s.gpus = 1
	}
	return s
}

// constraint is what a deployment may ask, and the share of deployments that do.
type constraint struct {
	share  float64
	option option
}

func (w *world) constraints(app string) []constraint {
	return []constraint{
		{0.10, selecting(api.LabelArch, pick(w.Rand, "amd64", "amd64", "arm64"))},
		{0.06, selecting(api.LabelZone, pick(w.Rand, zones...))},
		{0.06, selecting(api.LabelInstanceCategory, pick(w.Rand, "c", "m", "r"))},
		{0.04, selecting(api.LabelInstanceFamily, pick(w.Rand, "m5", "c5", "r5", "m6i", "c7g", "r6g"))},
		{0.05, selecting(api.LabelCapacityType, "on-demand")},
		{0.06, selecting("team", pick(w.Rand, w.teams...))},
		{0.05, requiring(api.LabelInstanceFamily, corev1.NodeSelectorOpNotIn, "t3", "t3a", "t4g", "m5")},
		{0.04, requiring(api.LabelInstanceGeneration, corev1.NodeSelectorOpGt, "4")},
		{0.25, tolerating(w.taint())},
		{0.15, spread(corev1.LabelTopologyZone, "app", app)},
		{0.08, spread(corev1.LabelHostname, "app", app)},
		{0.10, apart(corev1.LabelHostname, "app", app)},
		{0.03, near(corev1.LabelTopologyZone, "app", app)},
		{0.01, near(corev1.LabelHostname, "app", app)},
		{0.08, preferApart(corev1.LabelHostname, "app", app)},
		{0.02, hostPort(int32(8000 + w.IntN(5)))},
	}
}

func requiring(key string, operator corev1.NodeSelectorOperator, values ...string) option {
	return func(p *corev1.Pod) {
		a := affinity(p)
		if a.NodeAffinity == nil {
			a.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}}
		}
		term := &a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values})
	}
}

func hostPort(port int32) option {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, ContainerPort: port, Protocol: corev1.ProtocolTCP}}
	}
}

// nodes adds some that exist, of the first pool, at all levels of use.
func (w *world) nodes(n int) {
	if len(w.Types) == 0 {
		return
	}
	for i := range n {
		t := pick(w.Rand, w.Types...)
		node := existing(fmt.Sprintf("node-%04d", i), &t, pick(w.Rand, t.Offerings...))
		node.Labels[api.LabelProvisioner] = w.Provisioners[0].Name
		room, share := t.Allocatable(), w.Int64N(101)
		used := size{cpu: room[amount.CPU] * share / 100, memory: (room[amount.Memory] >> 20) * share / 100}
		pod := newPod(fmt.Sprintf("running-%04d", i), used, labelled("app", fmt.Sprintf("old-%d", i%7)))
		pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning
		w.Nodes, w.Running = append(w.Nodes, node), append(w.Running, pod)
	}
}

// limit gives most Provisioners limits, few of which bind.
func (w *world) limit() {
	need := int64(0)
	for _, p := range w.Pods {
		need += p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	}
	for _, p := range w.Provisioners {
		cpu := int64(1_000_000_000)
		if w.chance(0.15) {
			cpu = need * (30 + w.Int64N(100)) / 100
		}
		if w.chance(0.73) {
			p.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI)}}
		}
	}
}
