package model

import "github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"

// Effort bounds the work that pods' constraints make. It is counted in steps, of about
// ten nanoseconds each, so that a plan does not depend on the machine that makes it.
const (
	// effortOfTemplate is what pods of one template may spend, effortOfNode what each
	// node of the cluster adds to that, and effortOfPod what each of the pods does.
	effortOfTemplate = 2_000_000
	effortOfNode     = 200
	effortOfPod      = 4_000
	// effortOfTurn is what all pods together may spend before those that have spent more than
	// their share end, and effortOfAny what each pod adds to that. Pods that have begun to look
	// for a place may spend as much beside it; from half of that on no others begin.
	effortOfTurn = 40_000_000
	effortOfAny  = 20_000
)

// Effort is the work that has been spent on a plan, by the template of the pods that it
// was for. Each pass over all pods may spend the effort of a turn. Templates whose pods are
// alike, such as those of an indexed Job, count as one.
type Effort struct {
	Total, turn, share int64
	before             int64 // of the total, what earlier passes have spent
	least, apart       int64 // what a template may spend that has no pods, and how many templates do not count as another
	begun              int64 // in this pass, what the pods that have begun have spent
	accounts           map[*cluster.Template]*Account
	current            *Account // of the pods that work is being done for
}

// Account is what pods of one template have spent and may spend.
type Account struct {
	of           *cluster.Template // the first
	spent, limit int64
	begun        bool  // there was effort left when a place was first looked for
	lent         int64 // of the limit: what it got beside its own
	ever         bool  // it got something, in this pass or in an earlier one
}

// effortLent is what a pod may spend once more without its preferences, effortLentToMore what each other pod of its template
// adds to that, and mostLent what they may spend together: about as much as it takes to compare thousands of domains for each.
// It leaves most of a turn to other pods.
const (
	effortLent       = effortOfTemplate / 5 * 4
	effortLentToMore = 100_000
	mostLent         = effortOfTurn / 4
)

// Lend lets pods that have spent what they may spend some more, once until Again. It reports whether there is any left.
func (e *Effort) Lend(a *Account) bool {
	if a != nil && a.lent == 0 && a.spent > a.limit {
		others := max(0, (a.limit-e.least)/effortOfPod-1)
		a.lent = a.spent - a.limit + min(effortLent+effortLentToMore*others, mostLent)
		a.limit += a.lent
		a.ever = true
	}
	return a.Lent() && a.spent <= a.limit
}

// Lent reports whether the pods got more to spend, in this pass or in an earlier one. They are placed in the same way in
// all of them, so that their plans can be compared.
func (a *Account) Lent() bool { return a != nil && a.ever }

// NewEffort returns the effort of a plan for these pods in a cluster with so many
// nodes, of which nothing is spent. Until Begin names an account, work counts for an
// account of its own, which no pod shares.
func NewEffort(pods []Pod, nodes int) *Effort {
	e := &Effort{accounts: map[*cluster.Template]*Account{}, least: effortOfTemplate + effortOfNode*int64(nodes)}
	e.None()
	for i := range pods {
		t := pods[i].Pod.Template
		if e.accounts[t] == nil {
			e.accounts[t] = &Account{of: t, limit: e.least}
		}
		e.accounts[t].limit += effortOfPod
	}
	e.turn = effortOfTurn + effortOfAny*int64(len(pods))
	e.apart = int64(len(e.accounts))
	e.share = e.turn / max(1, e.apart)
	return e
}

// join makes pods of a template count for an account of others, which may spend more for them. It does so once: pods are
// classified again whenever limits come to bind.
func (e *Effort) join(t *cluster.Template, a *Account) {
	if own := e.accounts[t]; own != nil && own.of == t && own != a && a != nil {
		e.accounts[t] = a
		a.limit += own.limit - e.least
		e.apart--
		e.share = e.turn / max(1, e.apart)
	}
}

// Begin makes what follows count for an account.
func (e *Effort) Begin(a *Account) {
	if a != nil {
		e.current = a
	}
}

// Start lets the pods that work is being done for begin to look for a place, as long as there is
// effort left.
func (e *Effort) Start() {
	if e.begun <= e.turn/2 {
		e.current.begun = true
	}
}

// Postponed reports whether the pods could not begin because of what others have spent.
func (e *Effort) Postponed(a *Account) bool {
	return e.begun > e.turn/2 && a != nil && !a.begun && a.spent <= a.limit
}

// Greedy reports whether pods have spent more than their share of an effort of which none is left
// for those that have not begun.
func (e *Effort) Greedy(a *Account) bool {
	return e.begun > e.turn/2 && a != nil && a.begun && a.spent > e.share
}

// turnsOfPlan is up to how many turns' effort a plan may have taken when another way to place all
// pods is tried. Where limits bind, there are up to a dozen of them.
const turnsOfPlan = 2

// Spare reports whether there is effort left to place all pods in another way, which may be better.
func (e *Effort) Spare() bool { return e.Total < turnsOfPlan*e.turn }

// Again begins another pass: those spend again that have not spent what they may.
func (e *Effort) Again() {
	e.before, e.begun = e.Total, 0
	for _, a := range e.accounts {
		if a.spent <= a.limit {
			a.limit -= a.lent
			a.spent, a.lent = 0, 0
		}
	}
}

// None counts the following steps against a new account that belongs to no pod, and may spend what those of a template may.
func (e *Effort) None() { e.current = &Account{limit: effortOfTemplate} }

// Others counts the following steps against a new account that belongs to no pod.
func (e *Effort) Others() { e.current = &Account{limit: e.turn} }

// Spend counts steps.
func (e *Effort) Spend(steps int) {
	e.current.spent += int64(steps)
	e.Total += int64(steps)
	if e.current.begun {
		e.begun += int64(steps)
	}
}

// Reserve counts steps before they are taken. If the account cannot pay for them, it is exhausted.
func (e *Effort) Reserve(steps int) {
	if e.current.spent+int64(steps) > e.current.limit {
		e.current.spent = e.current.limit + 1
		return
	}
	e.Spend(steps)
}

// Over reports whether the pods that work is being done for have spent what they may. Those
// that have begun may finish, so that what was spent on them is not lost.
func (e *Effort) Over() bool {
	switch a := e.current; {
	case a.spent > a.limit:
		return true
	case a.begun:
		return e.begun > e.turn && a.spent > e.share
	default:
		return e.Total-e.before > e.turn && a.spent > e.share
	}
}
