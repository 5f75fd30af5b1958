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
	// column says. Not meaningful where miss says that the seller is excluded.
	residual []int
	miss     []match.Miss
	nodes    []int8 // by node: 0 not looked at, 1 matches, -1 does not
	id       int
}

// optionsFor returns the options of the requirements, made once.
func (s *solver) optionsFor(requires match.Requirements, tolerations []corev1.Toleration, tolerationKey string, honour bool) *options {
	key := requires.String() + "\x00" + tolerationKey
	if honour {
		key += "\x01"
	}
	if o, ok := s.options[key]; ok {
		return o
	}
	o := &options{
		requires: requires, tolerations: tolerations, honour: honour, id: len(s.options),
		columns: newBitset(len(s.columns)), residual: make([]int, len(s.sellers)), miss: make([]match.Miss, len(s.sellers)),
		nodes: make([]int8, len(s.nodes)), special: asksForSpecial(requires),
	}
	s.options[key] = o
	for i, seller := range s.sellers {
		o.miss[i] = s.choose(o, seller)
	}
	return o
}

// choose adds the seller's columns that the options allow, or says why there are none.
func (s *solver) choose(o *options, p *seller) match.Miss {
	if p.Spec.DeletionTimestamp != nil {
		return match.Miss{Kind: match.Deleting}
	}
	if miss, bad := match.Untolerated(p.Spec.Spec.Taints, o.tolerations, o.honour); bad {
		return miss
	}
	combined, miss := match.Combined(p.Spec, p.has, o.requires)
	if miss.Missed() {
		return miss
	}
	if p.Closed != "" {
		return match.Miss{Kind: match.Blocked, Want: p.Closed}
	}
	o.residual[p.index] = s.intern(s.residualOf(combined))
	var asked match.Requirements
	for _, q := range combined {
		_, byPod := o.requires.Get(q.Key)
		if byPod || slices.Contains(p.checked, q.Key) {
			asked = append(asked, q)
		}
	}
	if s.chooseColumns(o, p, asked) {
		return match.Miss{}
	}
	return nearestColumn(p, combined)
}

// chooseColumns adds the seller's columns that meet what was asked, and reports
// whether there are any.
func (s *solver) chooseColumns(o *options, p *seller, asked match.Requirements) bool {
	if len(asked) == 0 {
		o.columns.join(p.mask)
		return p.columns[0] < p.columns[1]
	}
	some := false
	types, places := typesAllowed(asked, p.goods), placesAllowed(asked, p.goods)
	for i := p.columns[0]; i < p.columns[1]; i++ {
		if c := &s.columns[i]; types[c.model] && places[c.place] {
			o.columns.add(i)
			some = true
		}
	}
	return some
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
