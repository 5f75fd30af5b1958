package match

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
)

// NodeNameField is the key under which a requirement on the node's name (a
// matchFields term) is kept. It is no valid label key.
const NodeNameField = "metadata.name field"

// Requirement is what one label must be.
type Requirement struct {
	Key string
	Set labelset.Set
}

// Requirements is a conjunction, sorted by key, with one Set per key and
// normalised keys. It is immutable once made.
type Requirements []Requirement

// Get returns the set of a key.
func (r Requirements) Get(key string) (labelset.Set, bool) {
	i, ok := r.find(key)
	if !ok {
		return labelset.Set{}, false
	}
	return r[i].Set, true
}

func (r Requirements) find(key string) (int, bool) {
	return slices.BinarySearchFunc(r, key, func(have Requirement, key string) int { return strings.Compare(have.Key, key) })
}

// With returns the conjunction of r and a requirement on one key.
func (r Requirements) With(key string, set labelset.Set) Requirements {
	i, ok := r.find(key)
	if ok {
		set = set.Intersect(r[i].Set)
		out := slices.Clone(r)
		out[i].Set = set
		return out
	}
	return slices.Insert(slices.Clone(r), i, Requirement{Key: key, Set: set})
}

// And returns the conjunction of both.
func (r Requirements) And(o Requirements) Requirements {
	if len(r) == 0 {
		return o
	}
	if len(o) == 0 {
		return r
	}
	out := make(Requirements, 0, len(r)+len(o))
	i, j := 0, 0
	for i < len(r) && j < len(o) {
		switch c := strings.Compare(r[i].Key, o[j].Key); {
		case c < 0:
			out = append(out, r[i])
			i++
		case c > 0:
			out = append(out, o[j])
			j++
		default:
			out = append(out, Requirement{Key: r[i].Key, Set: r[i].Set.Intersect(o[j].Set)})
			i, j = i+1, j+1
		}
	}
	out = append(out, r[i:]...)
	return append(out, o[j:]...)
}

// Unmeetable returns the first key that no node can satisfy.
func (r Requirements) Unmeetable() (string, bool) {
	for _, q := range r {
		if q.Set.Empty() {
			return q.Key, true
		}
	}
	return "", false
}

// Size is how much there is to look at: the keys and their values.
func (r Requirements) Size() int {
	n := len(r)
	for i := range r {
		values, _ := r[i].Set.Values()
		n += len(values)
	}
	return n
}

// String joins the requirements; equal strings mean equal requirements.
func (r Requirements) String() string {
	var b strings.Builder
	for i, q := range r {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(q.Key)
		b.WriteByte(' ')
		b.WriteString(q.Set.String())
	}
	return b.String()
}

// Labels returns the requirements that a node's own labels amount to: each key
// has its one value.
func Labels(labels map[string]string) Requirements {
	out := make(Requirements, 0, len(labels))
	for key, value := range labels {
		out = append(out, Requirement{Key: api.NormalizeLabel(key), Set: labelset.Only(value)})
	}
	slices.SortFunc(out, func(a, b Requirement) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(out, func(a, b Requirement) bool { return a.Key == b.Key })
}

// fromSelector converts a nodeSelector.
func fromSelector(selector map[string]string) Requirements {
	out := make(Requirements, 0, len(selector))
	for key, value := range selector {
		out = append(out, Requirement{Key: api.NormalizeLabel(key), Set: labelset.Only(value)})
	}
	return conjunction(out)
}

// fromTerm converts one term of a node affinity. The miss says what cannot be
// understood; an empty term matches no node, and for kube-scheduler neither does one with a
// value that no label can have. The API server lets such values through in preferences, and
// before Kubernetes 1.33 also in requirements.
func fromTerm(term *corev1.NodeSelectorTerm) (Requirements, Miss) {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return nil, Miss{Kind: Unsupported, Want: "node affinity term is empty and matches no node"}
	}
	var out Requirements
	for _, e := range term.MatchExpressions {
		for _, value := range e.Values {
			if len(validation.IsValidLabelValue(value)) > 0 {
				return nil, Miss{Kind: Unsupported, Want: fmt.Sprintf("node affinity on %s: no label can have the value %.80q", e.Key, value)}
			}
		}
		set, err := labelset.New(api.Operator(e.Operator), e.Values)
		if err != nil {
			return nil, Miss{Kind: Unsupported, Want: "node affinity on " + e.Key + ": " + err.Error()}
		}
		out = append(out, Requirement{Key: api.NormalizeLabel(e.Key), Set: set})
	}
	for _, e := range term.MatchFields {
		set, err := labelset.New(api.Operator(e.Operator), e.Values)
		if err != nil || e.Key != "metadata.name" {
			return nil, Miss{Kind: Unsupported, Want: "matchFields on " + e.Key + " is not supported"}
		}
		out = append(out, Requirement{Key: NodeNameField, Set: set})
	}
	return conjunction(out), Miss{}
}

// conjunction sorts and merges requirements that may repeat keys.
func conjunction(in Requirements) Requirements {
	slices.SortStableFunc(in, func(a, b Requirement) int { return strings.Compare(a.Key, b.Key) })
	out := in[:0]
	for _, q := range in {
		if n := len(out); n > 0 && out[n-1].Key == q.Key {
			out[n-1].Set = out[n-1].Set.Intersect(q.Set)
			continue
		}
		out = append(out, q)
	}
	return out
}
