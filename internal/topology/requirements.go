package topology

import (
	"maps"
	"slices"

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

func (requirements) Steps(r *Rules) int { return stepsToRead * len(r.Prefers) }

func (requirements) Read(_ *Groups, r *Rules) error {
	for i, p := range r.Prefers {
		r.addPreference(Preference{Text: "preferred node affinity " + p.Requirements.String(), Weight: p.Weight, prefer: i})
	}
	return nil
}
