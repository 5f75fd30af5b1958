package pack

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// classify groups the pods into classes and returns what each class needs.
func (s *solver) classify() map[*class]amount.List {
	keys := s.labelKeys()
	type shared struct {
		*class
		needs match.Needs
		miss  match.Miss
	}
	byTemplate := map[*cluster.Template]map[bool]*shared{}
	bySignature := map[string]*class{}
	needs := map[*class]amount.List{}
	claimed := s.exclusiveClaims()
	for i := range s.problem.Pods {
		d := &s.problem.Pods[i]
		t := d.Pod.Template
		moving := d.From != ""
		if byTemplate[t] == nil {
			byTemplate[t] = map[bool]*shared{}
		}
		known := byTemplate[t][moving]
		if known == nil {
			known = &shared{}
			known.needs, known.miss = s.volumes.Needs(t, moving)
			byTemplate[t][moving] = known
		}
		miss := known.miss
		if !miss.Missed() {
			miss = claimed.take(d.Pod)
		}
		if miss.Missed() {
			s.places[i].Reason = miss.String()
			continue
		}
		if known.class == nil || len(d.Nodes) > 0 {
			key := signature(t, known.needs, keys)
			var keySb50 strings.Builder
			for _, n := range d.Nodes {
				keySb50.WriteString("\x0a" + n)
			}
			key += keySb50.String()
			c := bySignature[key]
			if c == nil {
				c = newClass(t, known.needs, d.Nodes)
				bySignature[key] = c
				needs[c] = total(t, known.needs)
				s.classes = append(s.classes, c)
			}
			if len(d.Nodes) > 0 {
				c.pods, c.left = append(c.pods, i), c.left+1
				continue
			}
			known.class = c
		}
		known.class.pods, known.class.left = append(known.class.pods, i), known.class.left+1
	}
	return needs
}

func newClass(t *cluster.Template, needs match.Needs, nodes []string) *class {
	c := &class{template: t, nodes: nodes, tolerates: tolerationKey(t.Tolerations), prefers: match.Preferences(t.Affinity)}
	c.places, c.never = match.Places(t, needs.Places)
	switch {
	case t.Unsupported != "":
		c.never = match.Miss{Kind: match.Unsupported, Want: t.Unsupported}
	case t.ResourceClaims:
		c.never = match.Miss{Kind: match.Unsupported, Want: "the pod uses dynamic resource claims, which cannot be planned"}
	}
	return c
}

// labelKeys lists the pod labels that any selector looks at.
func (s *solver) labelKeys() []string {
	keys := map[string]bool{}
	seen := map[*cluster.Template]bool{}
	look := func(t *cluster.Template) {
		if !seen[t] {
			seen[t] = true
			collectLabelKeys(t, keys)
		}
	}
	for i := range s.problem.Snapshot.Pods {
		look(s.problem.Snapshot.Pods[i].Template)
	}
	for i := range s.problem.Pods {
		look(s.problem.Pods[i].Pod.Template)
	}
	for i := range s.problem.Snapshot.DaemonSets {
		look(s.problem.Snapshot.DaemonSets[i].Template)
	}
	return slices.Sorted(maps.Keys(keys))
}

func collectLabelKeys(t *cluster.Template, keys map[string]bool) {
	add := func(selector *metav1.LabelSelector, more ...[]string) {
		if selector != nil {
			for key := range selector.MatchLabels {
				keys[key] = true
			}
			for _, e := range selector.MatchExpressions {
				keys[e.Key] = true
			}
		}
		for _, key := range slices.Concat(more...) {
			keys[key] = true
		}
	}
	for i := range t.Spread {
		add(t.Spread[i].LabelSelector, t.Spread[i].MatchLabelKeys)
	}
	for _, term := range podTerms(t.Affinity) {
		add(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys)
	}
}

// podTerm is a term of a pod's affinity or anti-affinity.
type podTerm struct {
	*corev1.PodAffinityTerm
	anti   bool
	weight int32 // of a preference; 0 where the term is required
}

func podTerms(a *corev1.Affinity) []podTerm {
	var out []podTerm
	take := func(anti bool, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			out = append(out, podTerm{PodAffinityTerm: &required[i], anti: anti})
		}
		for i := range preferred {
			if p := &preferred[i]; p.Weight > 0 {
				out = append(out, podTerm{PodAffinityTerm: &p.PodAffinityTerm, anti: anti, weight: p.Weight})
			}
		}
	}
	if a != nil && a.PodAffinity != nil {
		take(false, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a != nil && a.PodAntiAffinity != nil {
		take(true, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return out
}

func (t podTerm) required() bool { return t.weight == 0 }

// text names a preference.
func (t podTerm) text() string {
	if t.anti {
		return "preferred pod anti-affinity over " + t.TopologyKey
	}
	return "preferred pod affinity over " + t.TopologyKey
}
