package conformance

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// constraints are what pods of a workload may ask.
var constraints = []func(generator, *corev1.Pod){
	generator.nodeSelector, generator.nodeAffinity, generator.preferredNodeAffinity,
	generator.tolerations, generator.tolerations, generator.zoneSpread, generator.hostSpread, generator.otherSpread,
	generator.affinity, generator.antiAffinity, generator.antiAffinity, generator.preferredAntiAffinity, generator.hostPorts, generator.volumes,
}

// resources gives the pod requests, of init containers and sidecars too.
func (g generator) resources(p *corev1.Pod) {
	p.Spec.Containers[0].Resources = g.requests(2400, 6000)
	if g.chance(15) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "second", Image: "none", Resources: g.requests(500, 800)})
	}
	if g.chance(15) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "init", Image: "none", Resources: g.requests(2500, 7000)})
	}
	if g.chance(15) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{
			Name: "sidecar", Image: "none", Resources: g.requests(400, 500), RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		})
	}
	if g.chance(10) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "late", Image: "none", Resources: g.requests(2500, 3000)})
	}
	if g.chance(8) {
		gpu := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(oneOf(g, "1", "1", "2"))}
		r := &p.Spec.Containers[0].Resources
		r.Limits = gpu
	}
	if g.chance(8) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("3300m"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		}}
	}
}

// requests are up to so many thousandths of a core and MiB; now and then nothing.
func (g generator) requests(milliCPU, mebibytes int) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Requests: corev1.ResourceList{}}
	if g.chance(92) {
		out.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(1+g.IntN(milliCPU)), resource.DecimalSI)
	}
	if g.chance(85) {
		out.Requests[corev1.ResourceMemory] = *resource.NewQuantity(int64(1+g.IntN(mebibytes))<<20, resource.BinarySI)
	}
	if g.chance(15) {
		out.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse(strconv.Itoa(1+g.IntN(12)) + "Gi")
	}
	return out
}

// nodeLabels are keys that nodes have, with values that some have.
var nodeLabels = []struct {
	key     string
	values  []string
	numbers bool
}{
	{key: api.LabelZone, values: zones},
	{key: api.LabelZone, values: zones},
	{key: "failure-domain.beta.kubernetes.io/zone", values: zones},
	{key: api.LabelArch, values: []string{"amd64", "arm64"}},
	{key: "beta.kubernetes.io/arch", values: []string{"amd64", "arm64"}},
	{key: api.LabelOS, values: []string{"linux"}},
	{key: api.LabelCapacityType, values: []string{api.CapacityOnDemand, api.CapacitySpot}},
	{key: api.LabelInstanceType, values: typeNames},
	{key: api.LabelProvisioner, values: []string{"default", "other"}},
	{key: labelTeam, values: teams},
	{key: labelTier, values: tiers},
	{key: api.LabelInstanceFamily, values: []string{"m5", "c5", "r5"}},
	{key: api.LabelInstanceFamily, values: []string{"m5", "m5d", "m6g", "g4dn", "t3"}},
	{key: api.LabelInstanceCategory, values: []string{"m", "c", "r", "t"}},
	{key: api.LabelInstanceSize, values: []string{"large", "xlarge"}},
	{key: api.LabelInstanceCPU, values: []string{"2", "4"}, numbers: true},
	{key: api.LabelInstanceMemory, values: []string{"8192", "16384"}, numbers: true},
	{key: api.LabelInstanceGeneration, values: []string{"5", "6"}, numbers: true},
	{key: api.LabelInstanceLocalNVMe, values: []string{"125", "150"}, numbers: true},
}

func (g generator) nodeSelector(p *corev1.Pod) {
	l := oneOf(g, nodeLabels...)
	if p.Spec.NodeSelector == nil {
		p.Spec.NodeSelector = map[string]string{}
	}
	p.Spec.NodeSelector[l.key] = oneOf(g, l.values...)
}

func (g generator) term() corev1.NodeSelectorTerm {
	var out corev1.NodeSelectorTerm
	for range 1 + g.IntN(2) {
		l := oneOf(g, nodeLabels...)
		e := corev1.NodeSelectorRequirement{Key: l.key, Operator: corev1.NodeSelectorOpIn, Values: someOf(g, l.values...)}
		switch {
		case l.numbers && g.chance(50):
			e.Operator, e.Values = oneOf(g, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), []string{oneOf(g, "3", "5", "10000")}
		case g.chance(30):
			e.Operator = corev1.NodeSelectorOpNotIn
		case g.chance(20):
			e.Operator, e.Values = oneOf(g, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist), nil
		}
		out.MatchExpressions = append(out.MatchExpressions, e)
	}
	if g.chance(5) {
		out.MatchFields = []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: oneOf(g, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{"node-0"},
		}}
	}
	return out
}

func affinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func (g generator) nodeAffinity(p *corev1.Pod) {
	a := affinityOf(p)
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &corev1.NodeSelector{}
	for range 1 + g.IntN(2) {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, g.term())
	}
	a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
}

func (g generator) preferredNodeAffinity(p *corev1.Pod) {
	a := affinityOf(p)
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: int32(1 + g.IntN(9)), Preference: g.term()}}
}

func (g generator) tolerations(p *corev1.Pod) {
	taint := oneOf(g, dedicated, evicting, soft)
	p.Spec.Tolerations = append(p.Spec.Tolerations, oneOf(g,
		corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpExists},
		corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect},
		corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: "wrong"},
		corev1.Toleration{Operator: corev1.TolerationOpExists},
		corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	))
}

// selector finds pods of the workload itself more often than others.
func (g generator) selector(p *corev1.Pod) *metav1.LabelSelector {
	switch n := g.IntN(100); {
	case n < 60:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
	case n < 85:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": oneOf(g, apps...)}}
	case n < 87:
		return nil // finds nothing
	case n < 90:
		return &metav1.LabelSelector{} // finds everything
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{oneOf(g,
		metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: someOf(g, apps...)},
		metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: someOf(g, apps...)},
		metav1.LabelSelectorRequirement{Key: "daemon", Operator: metav1.LabelSelectorOpDoesNotExist},
	)}}
}

func (g generator) zoneSpread(p *corev1.Pod) { g.spread(p, api.LabelZone) }

func (g generator) hostSpread(p *corev1.Pod) { g.spread(p, api.LabelHostname) }

func (g generator) otherSpread(p *corev1.Pod) {
	g.spread(p, oneOf(g, otherKeys...))
}

// otherKeys are topology keys besides the host name and the zone.
var otherKeys = []string{
	api.LabelCapacityType, api.LabelArch, labelTier, labelTeam, labelNone, api.LabelProvisioner, api.LabelInstanceType, api.LabelInstanceFamily,
	corev1.LabelTopologyRegion, "failure-domain.beta.kubernetes.io/zone",
}

// spread adds a topology spread constraint, one of a kind.
func (g generator) spread(p *corev1.Pod, key string) {
	s := corev1.TopologySpreadConstraint{
		TopologyKey: key, MaxSkew: int32(1 + g.IntN(3)), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: g.selector(p),
	}
	if g.chance(25) {
		s.MinDomains = ptr.To(int32(1 + g.IntN(4)))
	}
	if g.chance(15) {
		s.WhenUnsatisfiable, s.MinDomains = corev1.ScheduleAnyway, nil
	}
	if g.chance(20) {
		s.NodeAffinityPolicy = ptr.To(oneOf(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
	}
	if g.chance(20) {
		s.NodeTaintsPolicy = ptr.To(oneOf(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
	}
	if g.chance(10) && s.LabelSelector != nil {
		s.MatchLabelKeys = []string{"version"}
	}
	for _, have := range p.Spec.TopologySpreadConstraints {
		if have.TopologyKey == s.TopologyKey && have.WhenUnsatisfiable == s.WhenUnsatisfiable {
			return
		}
	}
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, s)
}

func (g generator) podTerm(p *corev1.Pod) corev1.PodAffinityTerm {
	out := corev1.PodAffinityTerm{
		TopologyKey: oneOf(g, api.LabelHostname, api.LabelZone), LabelSelector: g.selector(p),
	}
	if g.chance(30) {
		out.TopologyKey = oneOf(g, otherKeys...)
	}
	switch g.IntN(10) {
	case 0:
		out.Namespaces = []string{namespaces[1].Name}
	case 1:
		out.NamespaceSelector = &metav1.LabelSelector{}
	case 2:
		out.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
	}
	switch n := g.IntN(12); {
	case out.LabelSelector == nil: // the keys need one
	case n == 0:
		out.MatchLabelKeys = []string{"version"}
	case n == 1:
		out.MismatchLabelKeys = []string{"version"}
	}
	return out
}

func (g generator) affinity(p *corev1.Pod) {
	a := affinityOf(p)
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	list := &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for more := true; more; more = g.chance(25) {
		*list = append(*list, g.podTerm(p))
	}
}

func (g generator) antiAffinity(p *corev1.Pod) {
	a := affinityOf(p)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	list := &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*list = append(*list, g.podTerm(p))
}

func (g generator) preferredAntiAffinity(p *corev1.Pod) {
	a := affinityOf(p)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	list := &a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*list = append(*list, corev1.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(9)), PodAffinityTerm: g.podTerm(p)})
}

func (g generator) hostPorts(p *corev1.Pod) {
	port := corev1.ContainerPort{
		ContainerPort: 80, HostPort: int32(8080 + g.IntN(2)), Protocol: oneOf(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		HostIP: oneOf(g, "", "", "127.0.0.1", "127.0.0.2", "0.0.0.0"),
	}
	ports := &p.Spec.Containers[0].Ports
	for _, have := range *ports {
		if have.HostPort == port.HostPort && have.Protocol == port.Protocol {
			return
		}
	}
	*ports = append(*ports, port)
}
