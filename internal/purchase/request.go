package purchase

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// Trials are how many machines may still be filled in search of a cheaper plan. All passes that
// it takes to make a plan share them, so that limits do not make planning take longer.
type Trials struct {
	left    int
	patient bool // somebody has said how long to search
}

// NewTrials returns so many trials for a plan for so many pods, 0 for what is usual.
func NewTrials(pods, trials int) *Trials {
	return &Trials{left: cmp.Or(trials, assign.DefaultTrials(pods)), patient: trials > 0}
}

// Over reports whether none are left.
func (t *Trials) Over() bool { return t.left == 0 }

// spend takes trials off one of a pass's shares and off what is left for all passes.
func (t *Trials) spend(share *int, trials int) {
	*share, t.left = max(0, *share-trials), max(0, t.left-trials)
}

// buyer buys machines in one pass, as long as there are trials left.
type buyer struct {
	*assign.Market
	*Trials
	making   int           // trials that may still be taken to make a plan
	searches int           // the same to search for a cheaper one
	patterns bool          // use patterns where limits leave items over
	enlarged bool          // trials are in proportion to the pods already
	held     []*held       // nodes whose pods may be exchanged with others
	headroom []amount.List // by pool, what all limits leave, those too that do not bind in this pass
}

// makingShare is the part of the trials, one in so many, that making a plan takes at
// most; the others are for a search from there.
const makingShare = 4

func newBuyer(m *assign.Market, t *Trials) *buyer {
	making := max(1, t.left/makingShare)
	return &buyer{Market: m, Trials: t, making: making, searches: max(0, t.left-making)}
}

// request is what is to be bought: items of pod groups, from Provisioners of one weight,
// within what limits leave. It does not change.
type request struct {
	*buyer
	asked      []*assign.PodGroup // their Index is the place here
	pools      []*model.Pool
	limits     assign.RemainingLimits // what they leave for all of it
	limited    bool                   // limits bind, and nobody else sells what they do not allow
	order      []int                  // pod groups as they are bought for, see inOrder
	candidates []int                  // one of each group of offerings that no pod group tells apart
	masks      []model.Bitset         // distinct sets of offerings that pod groups allow
	maskOf     []int                  // by pod group
	choice     []int                  // by mask: how many of its offerings hold some pod
	surcharge  int64                  // what each machine is taken to cost more than it does, see withSurcharge
	pricing    *price.Pricing         // of the candidates
	nodes      []*held                // what is on them is asked for, too, and may stay there
}

func newRequest(by *buyer, groups []*assign.PodGroup, pools []*model.Pool, limits assign.RemainingLimits) *request {
	r := &request{buyer: by, pools: pools, limits: limits}
	fit := model.NewBitset(len(by.Offerings)) // holds an item of some pod group
	for _, g := range groups {
		if g.N > 0 && sell(pools, g) {
			g.Index = len(r.asked)
			r.asked = append(r.asked, g)
			fit.Join(g.Mask)
		}
	}
	r.groupByMask()
	for _, mask := range r.masks {
		r.choice = append(r.choice, mask.CountIn(fit))
	}
	r.limited = slices.ContainsFunc(pools, func(p *model.Pool) bool { return limits[p.Number] != nil }) && !r.lower()
	r.order = r.inOrder(r.usualOrder())
	// Offerings that are too small for all of them would set prices at which nothing can be
	// bought for them.
	r.candidates = slices.DeleteFunc(by.cheapest(r.masks, pools, limits), func(k int) bool { return !fit.Has(k) })
	r.pricing = price.New(by.Supply, r.candidates)
	r.prune()
	return r
}

// lower reports whether pools of a lower weight have something for the pod groups.
func (r *request) lower() bool {
	return slices.ContainsFunc(r.Pools, func(p *model.Pool) bool {
		return p.Weight < r.pools[0].Weight && slices.ContainsFunc(r.asked, func(g *assign.PodGroup) bool { return g.Mask.AnyIn(p.Offerings) })
	})
}

// ordering is an order in which pod groups are bought for.
type ordering int

const (
	largestFirst  ordering = iota // important pods first, and of them the largest, which pack best
	smallestFirst                 // important pods first, and of them the smallest, so that most get a place
	anyPriority                   // the largest first: where there is room for all, those that have less choice need it
)

// usualOrder is the order in which most pods get a place.
func (r *request) usualOrder() ordering {
	if r.limited {
		return smallestFirst
	}
	return largestFirst
}

// inOrder lists the pod groups with important pods first, in case that limits do not allow
// all; then those that have the least choice, so that what is left at the end fits anywhere;
// then by size, but before the smallest those that need devices: the room that they leave is
// for everybody.
func (r *request) inOrder(by ordering) []int {
	out := make([]int, len(r.asked))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(i, j int) int {
		x, y := r.asked[i], r.asked[j]
		bySize := cmp.Compare(y.Size, x.Size)
		if by == smallestFirst {
			bySize = cmp.Or(model.CmpBool(y.Parts[0].Class.AllowDevices, x.Parts[0].Class.AllowDevices), -bySize)
		}
		byPriority := cmp.Compare(y.Priority(), x.Priority())
		if by == anyPriority {
			byPriority = 0
		}
		return cmp.Or(byPriority, cmp.Compare(r.choice[r.maskOf[i]], r.choice[r.maskOf[j]]), bySize)
	})
	return out
}

// groupByMask numbers the sets of offerings that the pod groups' requirements allow.
func (r *request) groupByMask() {
	known := map[int]int{}
	for _, g := range r.asked {
		at, ok := known[g.Opt.ID]
		if !ok {
			at = len(r.masks)
			known[g.Opt.ID] = at
			r.masks = append(r.masks, g.Opt.Offerings)
		}
		r.maskOf = append(r.maskOf, at)
	}
}

// withSurcharge returns the request as if each machine cost so much more.
func (r *request) withSurcharge(more int64) *request {
	out := *r
	out.surcharge, out.pricing = more, price.New(r.Supply, r.candidates)
	out.pricing.Surcharge(more)
	return &out
}

// counts returns how many items of each pod group are asked for.
func (r *request) counts() []int64 {
	out := make([]int64, len(r.asked))
	for i, g := range r.asked {
		out[i] = g.N
	}
	return out
}

// weighedCost is what a machine is taken to cost when it is chosen: with the surcharge.
func (r *request) weighedCost(m *assign.Machine) int64 {
	return r.Offerings[m.Offering].Cost + r.surcharge
}
