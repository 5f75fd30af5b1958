package model

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// Options is what one set of requirements and tolerations may use. Classes with
// equal requirements share it.
type Options struct {
	Requires    match.Requirements
	tolerations []corev1.Toleration
	Honour      bool // PreferNoSchedule taints keep the pod away

	Offerings Bitset
	// Any are also those that can only be offered with others, see Supply.keepVaried.
	Any     Bitset
	Special bool // asks for special types
	// Residual, by pool: what the machine's labels must be beyond what the
	// offering says. Not meaningful where the pool is excluded.
	Residual []int
	nodes    []int8 // by node: 0 not looked at, 1 matches, -1 does not
	ID       int    // negative for those of items of several pods, which tells them apart in one pass only
}

// OptionsFor returns the options of the requirements, made once.
func (s *Supply) OptionsFor(requires match.Requirements, tolerations []corev1.Toleration, tolerationKey string, honour bool) *Options {
	size := requires.Size()
	s.Effort.Spend(StepsToSpell * size)
	key := requires.String() + "\x00" + tolerationKey
	if honour {
		key += "\x01"
	}
	if o, ok := s.options[key]; ok {
		return o
	}
	o := &Options{
		Requires: requires, tolerations: tolerations, Honour: honour, ID: len(s.options),
		Offerings: NewBitset(len(s.Offerings)), Residual: make([]int, len(s.Pools)),
		Special: asksForSpecial(requires),
	}
	s.options[key] = o
	if len(s.Nodes) > 0 && s.unlabelled(requires) {
		o.nodes = slices.Repeat([]int8{-1}, len(s.Nodes))
	}
	for _, p := range s.Selling {
		s.Effort.Spend(StepsToSpell * size)
		if combined, miss := s.combined(demand{requires, tolerations}, honour, p); !miss.Missed() {
			s.choose(o, p, combined)
		}
	}
	s.keepVaried(o)
	return o
}

// unlabelled reports whether a label is required that no node has, which spares a look at each.
func (s *Supply) unlabelled(requires match.Requirements) bool {
	if s.nodeLabels == nil {
		s.nodeLabels = map[string]bool{match.NodeNameField: true}
		for _, n := range s.Nodes {
			for key := range n.Labels {
				s.nodeLabels[key] = true
			}
			if match.Awaits(n.Node, api.LabelInitialized) {
				s.nodeLabels[api.LabelInitialized] = true
			}
		}
	}
	return slices.ContainsFunc(requires, func(q match.Requirement) bool { return !s.nodeLabels[q.Key] && !q.Set.HasMissing() })
}

// StepsToSpell is the effort of looking at a value that is required of a label.
const StepsToSpell = 2

// combined returns what the pool's machines must be for a demand, or says why there can be
// none.
func (s *Supply) combined(d demand, honour bool, p *Pool) (match.Requirements, match.Miss) {
	if p.Spec.DeletionTimestamp != nil {
		return nil, match.Miss{Kind: match.Deleting}
	}
	if taint := match.Untolerated(p.Spec.Spec.Taints, d.tolerations, honour); taint != nil {
		return nil, match.Miss{Kind: match.Taint, Key: taint.ToString()}
	}
	combined, miss := match.Combined(p.Spec, p.Requirements, d.requires)
	if !miss.Missed() && p.Closed != "" {
		miss = match.Miss{Kind: match.Blocked, Want: p.Closed}
	}
	return combined, miss
}

// choose adds the pool's offerings that the options allow.
func (s *Supply) choose(o *Options, p *Pool, combined match.Requirements) {
	o.Residual[p.Number] = s.intern(s.residualOf(combined))
	asked := askedOf(o.Requires, combined, p)
	if len(asked) == 0 { // what the pool itself requires each of its label choices can meet
		o.Offerings.Join(p.Mask)
		return
	}
	words := [2]int{p.Offerings[0] / 64, (p.Offerings[1] + 63) / 64}
	chosen := p.Mask[words[0]:words[1]].Clone()
	each := 1
	if len(asked) > fewAsked {
		each = len(asked)
	}
	for of := range slices.Chunk(asked, each) {
		s.Effort.Spend(1 + len(chosen)/stepsToIntersect)
		chosen.Keep(s.meeting(p, of, words[0]*64))
	}
	o.Offerings[words[0]:words[1]].Join(chosen)
}

// stepsToIntersect is how many words of sets one step of effort intersects.
const stepsToIntersect = 8

// fewAsked requirements are looked at one by one. More are looked at together: a pod may have thousands.
const fewAsked = 8

// meeting returns which of the pool's offerings meet some requirements, counted from an offset on. For one requirement it is
// found once, since each value of a topology key is asked for with all values of the others. Many are hardly asked for again,
// and would take much memory.
func (s *Supply) meeting(p *Pool, some match.Requirements, offset int) Bitset {
	if len(some) > 1 {
		return s.findMeeting(p, some, offset)
	}
	key := strconv.Itoa(p.Number) + " " + some.String()
	out, known := s.meet[key]
	if !known {
		out = s.findMeeting(p, some, offset)
		s.meet[key] = out
	}
	return out
}

func (s *Supply) findMeeting(p *Pool, some match.Requirements, offset int) Bitset {
	s.Effort.Spend((p.Offerings[1] - p.Offerings[0] + len(some)*len(p.Types)) / 8)
	types, places := typesAllowed(some, p.Catalogue), placesAllowed(some, p.Catalogue)
	out := NewBitset(p.Offerings[1] - offset)
	for i := p.Offerings[0]; i < p.Offerings[1]; i++ {
		if c := &s.Offerings[i]; types[c.TypeIndex] && places[c.Place] && c.allows(some) {
			out.Add(i - offset)
		}
	}
	return out
}

// askedOf returns what is required of the pool's offerings beyond what the pool requires of
// all of them.
func askedOf(requires, combined match.Requirements, p *Pool) match.Requirements {
	var out match.Requirements
	for _, q := range combined {
		_, byPod := requires.Get(q.Key)
		if byPod || slices.Contains(p.Overridable, q.Key) {
			out = append(out, q)
		}
	}
	return out
}

// MissOf says why the options allow none of the pool's offerings, if that is so.
func (s *Supply) MissOf(o *Options, p *Pool) match.Miss {
	combined, miss := s.combined(demand{o.Requires, o.tolerations}, o.Honour, p)
	if miss.Missed() || o.Offerings.AnyIn(p.Offerings) {
		return miss
	}
	if o.Any.AnyIn(p.Offerings) {
		return s.VarietyMiss(o, p, nil)
	}
	return nearestOffering(p, combined)
}

// residualOf keeps what the offering alone does not decide: labels of the user's
// own, and those for which a type leaves a choice.
func (s *Supply) residualOf(combined match.Requirements) match.Requirements {
	var out match.Requirements
	for _, q := range combined {
		if !s.originOf(q.Key).byOffering {
			out = append(out, q)
		}
	}
	return out
}

// intern numbers a residual.
func (s *Supply) intern(r match.Requirements) int {
	key := r.String()
	id, ok := s.residualIDs[key]
	if !ok {
		id = len(s.residuals)
		s.residualIDs[key] = id
		s.residuals = append(s.residuals, r)
		s.Choices = append(s.Choices, slices.ContainsFunc(r, func(q match.Requirement) bool { return s.originOf(q.Key).some || s.limits(q.Key) }))
	}
	return id
}

// Merge returns the residual of a machine that must meet both, or false where
// none can.
func (s *Supply) Merge(a, b int) (int, bool) {
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

// LeavesChoice reports whether machines of the offering can have labels that meet the
// residual.
func (s *Supply) LeavesChoice(residual int, c *Offering) bool {
	if !s.Choices[residual] {
		return true
	}
	if !c.allows(s.residuals[residual]) {
		return false
	}
	for _, q := range s.residuals[residual] {
		if values, ok := c.Type.Labels[q.Key]; ok && !q.Set.HasAny(values) {
			return false
		}
	}
	return true
}
