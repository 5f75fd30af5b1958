package topology

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// requirements are what a pod requires and prefers of the labels of its node: the node
// selector and node affinity. Package match reads them, and model.Supply finds what meets
// them and, where nothing does, the nearest miss. Terms that are required are alternatives;
// preferences are requirements until they are given up.
type requirements struct{ general }

func (requirements) AppendKey(b []byte, t *cluster.Template, _ match.Needs) []byte {
	for _, key := range slices.Sorted(maps.Keys(t.NodeSelector)) {
		b = append(b, "\x01"+key+"="+t.NodeSelector[key]...)
	}
	if t.Affinity != nil && t.Affinity.NodeAffinity != nil {
		b = appendEncoded(append(b, 2), t.Affinity.NodeAffinity)
	}
	return b
}

// appendEncoded adds a part of a pod's spec.
func appendEncoded(b []byte, of interface{ Marshal() ([]byte, error) }) []byte {
	encoded, err := of.Marshal()
	if err != nil {
		panic("encode a part of a pod: " + err.Error()) // plain data always encodes
	}
	return append(b, encoded...)
}

func (requirements) Sizes(t *cluster.Template) []Size {
	out := []Size{{"node selector labels", len(t.NodeSelector)}}
	if t.Affinity == nil || t.Affinity.NodeAffinity == nil {
		return out
	}
	a := t.Affinity.NodeAffinity
	out = append(out, Size{"preferred node affinity terms", len(a.PreferredDuringSchedulingIgnoredDuringExecution)})
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		out = append(out, Size{"required node affinity terms", len(required.NodeSelectorTerms)})
		out = append(out, expressions(required.NodeSelectorTerms)...)
	}
	return out
}

func expressions(terms []corev1.NodeSelectorTerm) []Size {
	n, values := 0, 0
	for i := range terms {
		for _, e := range terms[i].MatchExpressions {
			n, values = n+1, values+len(e.Values)
		}
	}
	return []Size{{"node affinity expressions", n}, {"values in node affinity expressions", values}}
}

func (requirements) Steps(r *Rules) int { return stepsToRead * len(r.Prefers) }

func (requirements) Read(_ *Groups, r *Rules) error {
	for i, p := range r.Prefers {
		r.addPreference(Preference{Text: "preferred node affinity " + p.Requirements.String(), Weight: p.Weight, prefer: i})
	}
	return nil
}
