package pack

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// Effort bounds the work that pods' constraints make. It is counted in steps, of about
// ten nanoseconds each, so that a plan does not depend on the machine that makes it.
const (
	// effortOfTemplate is what pods of one template may spend, effortOfNode what each
	// node of the cluster adds to that, and effortOfPod what each of the pods does.
	effortOfTemplate = 2_000_000
	effortOfNode     = 200
	effortOfPod      = 4_000
	// effortOfTurn is what all pods together may spend before those that have spent
	// more than their share end, and effortOfAny what each pod adds to that.
	effortOfTurn = 40_000_000
	effortOfAny  = 20_000
)

// effort is the work that one packing has spent, by the template of the pods that it
// was for.
type effort struct {
	total, turn, share int64
	accounts           map[*cluster.Template]*account
	current            *account // of the pods that work is being done for
}

type account struct{ spent, limit int64 }

func newEffort(p *Problem) *effort {
	e := &effort{accounts: map[*cluster.Template]*account{}}
	e.begin(&account{limit: effortOfTemplate})
	nodes := int64(0)
	if p.Snapshot != nil {
		nodes = int64(len(p.Snapshot.Nodes))
	}
	for i := range p.Pods {
		t := p.Pods[i].Pod.Template
		if e.accounts[t] == nil {
			e.accounts[t] = &account{limit: effortOfTemplate + effortOfNode*nodes}
		}
		e.accounts[t].limit += effortOfPod
	}
	e.turn = effortOfTurn + effortOfAny*int64(len(p.Pods))
	e.share = e.turn / int64(max(1, len(e.accounts)))
	return e
}

// begin makes what follows count for an account.
func (e *effort) begin(a *account) {
	if a != nil {
		e.current = a
	}
}

// again lets those spend anew that have not spent what they may.
func (e *effort) again() {
	for _, a := range e.accounts {
		if a.spent <= a.limit {
			a.spent = 0
		}
	}
}

// others makes what follows count for nobody.
func (e *effort) others() { e.current = &account{limit: e.turn} }

// spend counts steps.
func (e *effort) spend(steps int) {
	e.current.spent += int64(steps)
	e.total += int64(steps)
}

// reserve counts steps before they are taken: where they are too many, what may be spent
// is gone.
func (e *effort) reserve(steps int) {
	if e.current.spent+int64(steps) > e.current.limit {
		e.current.spent = e.current.limit + 1
		return
	}
	e.spend(steps)
}

// over reports whether the pods that work is being done for have spent what they may.
func (e *effort) over() bool {
	return e.current.spent > e.current.limit || e.total > e.turn && e.current.spent > e.share
}

// exhausted ends a class that has spent what it may: it gets no place in this packing.
func (s *solver) exhausted(c *class) bool {
	if c.never.Kind == match.Exhausted {
		return true
	}
	s.effort.begin(c.account)
	if !s.effort.over() {
		return false
	}
	c.never = match.Miss{Kind: match.Exhausted, Want: "planning it takes more work than one pod may take: " + bulk(c.template)}
	return true
}

// bulk names what a template has most of.
func bulk(t *cluster.Template) string {
	type count struct {
		what string
		n    int
	}
	counts := []count{
		{"topology spread constraints", len(t.Spread)}, {"host ports", len(t.HostPorts)}, {"claims", len(t.Claims)},
		{"tolerations", len(t.Tolerations)}, {"node selector labels", len(t.NodeSelector)}, {"pod affinity terms", len(podTerms(t.Affinity))},
	}
	if a := t.Affinity; a != nil && a.NodeAffinity != nil {
		counts = append(counts, count{"preferred node affinity terms", len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)})
		required, expressions, values := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, 0, 0
		if required != nil {
			for i := range required.NodeSelectorTerms {
				for _, e := range required.NodeSelectorTerms[i].MatchExpressions {
					expressions, values = expressions+1, values+len(e.Values)
				}
			}
			counts = append(counts, count{"required node affinity terms", len(required.NodeSelectorTerms)}, count{"node affinity expressions", expressions}, count{"values in node affinity expressions", values})
		}
	}
	slices.SortStableFunc(counts, func(a, b count) int { return cmp.Compare(b.n, a.n) })
	if counts[1].n == 0 {
		return fmt.Sprintf("it has %d %s", counts[0].n, counts[0].what)
	}
	return fmt.Sprintf("it has %d %s and %d %s", counts[0].n, counts[0].what, counts[1].n, counts[1].what)
}
