package conformance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// note marks what a scenario has.
func note(s *scenario, seen map[string]bool) {
	mark := func(what string, there bool) { seen[what] = seen[what] || there }
	mark("two provisioners", len(s.Provisioners) == 2)
	for _, p := range s.Provisioners {
		mark("limits", p.Spec.Limits != nil)
		mark("limits that bind nothing", p.Spec.Limits != nil && p.Spec.Limits.Resources.Cpu().Value() == 1000)
		mark("memory limits", p.Spec.Limits != nil && !p.Spec.Limits.Resources.Memory().IsZero())
		mark("max pods", p.Spec.KubeletConfiguration != nil)
		mark("taints", len(p.Spec.Taints) > 0)
		mark("startup taints", len(p.Spec.StartupTaints) > 0)
		mark("weights", p.Spec.Weight != nil)
		for _, r := range p.Spec.Requirements {
			mark("min values", r.MinValues != nil)
			mark("requirement "+string(r.Operator), true)
			mark("capacity types", r.Key == api.LabelCapacityType && len(r.Values) == 2)
		}
	}
	for _, n := range s.Nodes {
		mark("cordoned node", n.Spec.Unschedulable)
		mark("starting node", starting(n))
		mark("leaving node", n.DeletionTimestamp != nil)
		mark("foreign node", n.Labels[api.LabelProvisioner] == "")
		mark("node without zone", n.Labels[api.LabelZone] == "")
	}
	mark("node in use", len(s.Pods) == 0 && len(s.Nodes) > 1)
	mark("running pod", len(s.Running) > 0)
	mark("daemon set", len(s.DaemonSets) > 0)
	mark("two daemon sets", len(s.DaemonSets) == 2)
	for _, d := range s.DaemonSets {
		mark("daemon set with anti-affinity", len(requiredAntiAffinity(&d.Spec.Template.Spec)) > 0)
	}
	mark("many pods with alternatives", slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool {
		return p.Name == "many-19" && len(p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms) > 1
	}))
	for _, p := range s.Pods {
		noteResources(p, mark)
		noteNodeAffinity(p, mark)
		notePods(p, mark)
	}
}

func noteResources(p *corev1.Pod, mark func(string, bool)) {
	mark("priority", p.Spec.PriorityClassName != "")
	mark("toleration", len(p.Spec.Tolerations) > 0)
	mark("selector on family", p.Spec.NodeSelector[api.LabelInstanceFamily] != "")
	mark("selector on category", p.Spec.NodeSelector[api.LabelInstanceCategory] != "")
	mark("selector on size", p.Spec.NodeSelector[api.LabelInstanceSize] != "")
	for _, v := range p.Spec.Volumes {
		mark("volume", v.Name == "first")
		mark("volume in a zone", v.Name == zones[0])
		mark("volume of one pod", v.Name == exclusive)
	}
	mark("two volumes", len(p.Spec.Volumes) == 2)
	mark("pod-level resources", p.Spec.Resources != nil)
	for _, c := range p.Spec.InitContainers {
		mark("sidecar", c.RestartPolicy != nil)
		mark("init container", c.RestartPolicy == nil)
	}
	for _, c := range p.Spec.Containers {
		mark("GPU", !c.Resources.Limits.Name("nvidia.com/gpu", "").IsZero())
		mark("ephemeral storage", !c.Resources.Requests.StorageEphemeral().IsZero())
		for _, port := range c.Ports {
			mark("host port", port.HostPort > 0)
			mark("host IP", port.HostIP != "")
		}
	}
}

func noteNodeAffinity(p *corev1.Pod, mark func(string, bool)) {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		mark("matchFields", len(t.MatchFields) > 0)
		for _, e := range t.MatchExpressions {
			mark(string(e.Operator), true)
		}
	}
}

func notePods(p *corev1.Pod, mark func(string, bool)) {
	for _, s := range p.Spec.TopologySpreadConstraints {
		if s.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		mark("zone spread", s.TopologyKey == api.LabelZone)
		mark("hostname spread", s.TopologyKey == api.LabelHostname)
		mark("min domains", s.MinDomains != nil)
		mark("node taints policy", s.NodeTaintsPolicy != nil)
		mark("node affinity policy", s.NodeAffinityPolicy != nil)
	}
	together, apart := requiredAffinity(&p.Spec), requiredAntiAffinity(&p.Spec)
	mark("affinity", len(together) > 0)
	mark("several affinities", len(together) > 1)
	mark("anti-affinity", len(apart) > 0)
	mark("several anti-affinities", len(apart) > 1)
	for _, t := range together {
		mark("affinity over "+t.TopologyKey, true)
	}
	for _, t := range apart {
		mark("anti-affinity over "+t.TopologyKey, true)
	}
}

func requiredAffinity(p *corev1.PodSpec) []corev1.PodAffinityTerm {
	if p.Affinity == nil || p.Affinity.PodAffinity == nil {
		return nil
	}
	return p.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func requiredAntiAffinity(p *corev1.PodSpec) []corev1.PodAffinityTerm {
	if p.Affinity == nil || p.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}
