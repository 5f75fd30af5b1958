package pack

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// options is what one set of requirements and tolerations may use. Classes with
// equal requirements share it.
type options struct {
	requires    match.Requirements
	tolerations []corev1.Toleration
	honour      bool // PreferNoSchedule taints keep the pod away

	columns bitset
	special bool // asks for special types
	// residual, by seller: what the machine's labels must be beyond what the
	// column says. Not meaningful where the seller is excluded.
	residual []int
	nodes    []int8 // by node: 0 not looked at, 1 matches, -1 does not
	id       int
}

// optionsFor returns the options of the requirements, made once.
func (s *solver) optionsFor(requires match.Requirements, tolerations []corev1.Toleration, tolerationKey string, honour bool) *options {
	size := requires.Size()
	s.effort.spend(stepsToSpell * size)
	key := requires.String() + "\x00" + tolerationKey
	if honour {
		key += "\x01"
	}
	if o, ok := s.options[key]; ok {
		return o
	}
	o := &options{
		requires: requires, tolerations: tolerations, honour: honour, id: len(s.options),
		columns: newBitset(len(s.columns)), residual: make([]int, len(s.sellers)),
		nodes: make([]int8, len(s.nodes)), special: asksForSpecial(requires),
	}
	s.options[key] = o
	s.effort.spend(stepsToSpell * size * len(s.sellers))
	for _, p := range s.sellers {
		if combined, miss := s.combined(o, p); !miss.Missed() {
			s.choose(o, p, combined)
		}
	}
	return o
}

// stepsToSpell is the effort of looking at a value that is required of a label.
const stepsToSpell = 2

// combined returns what the seller's machines must be by the options, or says why there
// can be none.
func (s *solver) combined(o *options, p *seller) (match.Requirements, match.Miss) {
	if p.Spec.DeletionTimestamp != nil {
		return nil, match.Miss{Kind: match.Deleting}
	}
	if miss, bad := match.Untolerated(p.Spec.Spec.Taints, o.tolerations, o.honour); bad {
		return nil, miss
	}
	combined, miss := match.Combined(p.Spec, p.has, o.requires)
	if !miss.Missed() && p.Closed != "" {
		miss = match.Miss{Kind: match.Blocked, Want: p.Closed}
	}
	return combined, miss
}

// choose adds the seller's columns that the options allow.
func (s *solver) choose(o *options, p *seller, combined match.Requirements) {
	o.residual[p.index] = s.intern(s.residualOf(combined))
	var asked match.Requirements
	for _, q := range combined {
		_, byPod := o.requires.Get(q.Key)
		if byPod || slices.Contains(p.checked, q.Key) {
			asked = append(asked, q)
		}
	}
	if len(asked) == 0 {
		o.columns.join(p.mask)
		return
	}
	s.effort.spend((p.columns[1] - p.columns[0] + len(asked)*len(p.Types)) / 8)
	types, places := typesAllowed(asked, p.goods), placesAllowed(asked, p.goods)
	for i := p.columns[0]; i < p.columns[1]; i++ {
		if c := &s.columns[i]; types[c.model] && places[c.place] {
			o.columns.add(i)
		}
	}
}

// missOf says why the options allow none of the seller's columns, if that is so.
func (s *solver) missOf(o *options, p *seller) match.Miss {
	combined, miss := s.combined(o, p)
	if miss.Missed() || anyIn(o.columns, p.columns) {
		return miss
	}
	return nearestColumn(p, combined)
}

// residualOf keeps what the column alone does not settle: labels of the user's
// own, and those for which a type leaves a choice.
func (s *solver) residualOf(combined match.Requirements) match.Requirements {
	var out match.Requirements
	for _, q := range combined {
		if !s.originOf(q.Key).settled {
			out = append(out, q)
		}
	}
	return out
}

// intern numbers a residual.
func (s *solver) intern(r match.Requirements) int {
	key := r.String()
	id, ok := s.residualIDs[key]
	if !ok {
		id = len(s.residuals)
		s.residualIDs[key] = id
		s.residuals = append(s.residuals, r)
		s.choices = append(s.choices, slices.ContainsFunc(r, func(q match.Requirement) bool { return s.originOf(q.Key).some }))
	}
	return id
}

// merge returns the residual of a machine that must meet both, or false where
// none can.
func (s *solver) merge(a, b int) (int, bool) {
	if a == b {
		return a, true
	}
	pair := [2]int{min(a, b), max(a, b)}
	merged, ok := s.merged[pair]
	if !ok {
		merged = -1
		both := s.residuals[a].And(s.residuals[b])
		if _, bad := both.Unmeetable(); !bad {
			merged = s.intern(both)
		}
		s.merged[pair] = merged
	}
	return merged, merged >= 0
}

// leavesChoice reports whether the type can have labels that meet the residual.
func (s *solver) leavesChoice(residual int, c *column) bool {
	if !s.choices[residual] {
		return true
	}
	for _, q := range s.residuals[residual] {
		if values, ok := c.typ.Labels[q.Key]; ok && !q.Set.HasAny(values) {
			return false
		}
	}
	return true
}
