package pack

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// diagnose says why a class has no place: what the nodes lack that it names, or else what excludes the
// Provisioners, the nearest miss first.
func diagnose(a *assign.Assignment, c *assign.Class) string {
	if len(a.Pools) == 0 {
		return "there is no Provisioner"
	}
	requires, honour := c.RequiresAt(c.LastLevel())
	if key, bad := requires.Unmeetable(); bad {
		who := "the pod's own requirements"
		if len(c.Template.Claims) > 0 {
			who += " and those of its volumes"
		}
		return fmt.Sprintf("%s on %s contradict each other", who, key)
	}
	a.Effort.Begin(c.Account)
	o := a.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, honour)
	if text := missOfNodes(a, c, o); text != "" {
		return text
	}
	return missesOf(a, c, o).sentence(len(a.Pools))
}

// misses are why the Provisioners do not serve a class, by text.
type misses map[string]*missed

// missed is a miss with the Provisioners that it is true of.
type missed struct {
	match.Miss
	text  string
	names []string
}

func missesOf(a *assign.Assignment, c *assign.Class, o *model.Options) misses {
	out, topology := misses{}, match.Miss{}
	for i, p := range nearestFirst(a.Pools, o) {
		a.Effort.Spend(p.Offerings[1] - p.Offerings[0] + len(p.Types)*len(o.Requires))
		if a.Effort.Over() && i > 0 {
			break // what is known by now must do
		}
		miss := a.MissOf(o, p)
		if !miss.Missed() {
			miss = whyNot(a, c, o, p)
		}
		if !miss.Missed() {
			if !topology.Missed() { // the same for all
				topology = match.Miss{Kind: match.Topology, Want: a.State.Explain(c.Rules, maxMisses)}
			}
			miss = topology
		}
		text := miss.String()
		if unselected(miss) {
			text = "is not one that the pod selects by " + miss.Key + " " + miss.Want
		}
		if miss.AboutLabel() && len(c.Template.Claims) > 0 && !match.AsksFor(c.Template, miss.Key) {
			text += ", which its volumes ask for"
		}
		if out[text] == nil {
			out[text] = &missed{Miss: miss, text: text}
		}
		out[text].names = append(out[text].names, p.Spec.Name)
	}
	return out
}

// nearestFirst begins with the pools that sell something for the options, because there may be effort for a few only.
func nearestFirst(pools []*model.Pool, o *model.Options) []*model.Pool {
	sells := func(p *model.Pool) bool { return o.Offerings.AnyIn(p.Offerings) }
	return append(slices.DeleteFunc(slices.Clone(pools), func(p *model.Pool) bool { return !sells(p) }), slices.DeleteFunc(slices.Clone(pools), sells)...)
}

// maxMisses is how many different reasons a sentence tells apart.
const maxMisses = 4

// sentence tells the reasons one after the other, the nearest miss first.
func (ms misses) sentence(of int) string {
	order := model.SortedKeys(ms)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(ms[b].nearness(), ms[a].nearness()) })
	near := order[:min(len(order), maxMisses)]
	var parts []string
	for _, text := range near {
		parts = append(parts, ms[text].sentence(of))
	}
	n := 0
	for _, text := range order[len(near):] {
		n += len(ms[text].names)
	}
	if n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d provisioners excluded for other reasons", n, of))
	}
	return strings.Join(parts, "; ")
}

// nearness is greater for a nearer miss. A Provisioner that the pod does not select by its
// name is no near miss, whatever it lacks.
func (m *missed) nearness() int {
	if unselected(m.Miss) {
		return 0
	}
	return int(m.Kind)
}

// unselected reports whether the pod selects other Provisioners by their names.
func unselected(m match.Miss) bool { return m.Kind == match.Label && m.Key == api.LabelProvisioner }

// sentence says who misses, one by name and several by number, and what.
func (m *missed) sentence(of int) string {
	text := m.text
	switch n := len(m.names); {
	case m.Kind >= match.Topology || m.Kind == match.Unsupported || m.Kind == match.Port:
		return text
	case n == 1:
		return "provisioner " + m.names[0] + " " + text
	case m.Kind == match.Taint:
		return m.who(of) + " excluded by taint " + m.Key
	case n == of:
		return fmt.Sprintf("each of the %d provisioners %s", of, text)
	default:
		return m.who(of) + ": each " + text
	}
}

// maxNames is how many Provisioners are named where several miss alike.
const maxNames = 5

func (m *missed) who(of int) string {
	if len(m.names) == of {
		return fmt.Sprintf("all %d provisioners", of)
	}
	return fmt.Sprintf("%d of %d provisioners (%s)", len(m.names), of, match.Enumerate(m.names, maxNames))
}

// whyNot says why no offering of a pool that has the right ones was bought, unless it
// is for constraints on other pods.
func whyNot(a *assign.Assignment, c *assign.Class, o *model.Options, p *model.Pool) match.Miss {
	var largest *model.Offering
	short, lack := -1, int64(0)
	held, sold := false, o.Offerings.Within(p.Offerings)
	for k := range sold {
		o := &a.Offerings[k]
		if model.Fits(c.Need, o.Room) {
			held = true
			break
		}
		if r, by := worstLack(c.Need, o.Room); largest == nil || by < lack {
			largest, short, lack = o, r, by
		}
	}
	if !held {
		if miss := a.VarietyMiss(o, p, c.Need); miss.Missed() {
			return miss
		}
		return resourceMiss(a, c.Need, sold, largest, short)
	}
	if fittingOf(a, c, o, p).Empty() {
		return match.Miss{Kind: match.Port, Want: "a DaemonSet keeps the pod from every node: it takes the same host port or repels the pod"}
	}
	return limitMiss(a, c, o, p)
}

// fittingOf returns the offerings of one pool that hold the class.
func fittingOf(a *assign.Assignment, c *assign.Class, o *model.Options, p *model.Pool) model.Bitset {
	out := a.Fitting(c.Need, c.PerNode, c.AllowDevices, o)
	out.Keep(p.Mask)
	return out
}

// worstLack returns the resource of which the room lacks the largest share of
// the need, in thousandths.
func worstLack(need, room []int64) (resource int, by int64) {
	for r, n := range need {
		if n > room[r] {
			if share := int64(1000 * float64(n-max(room[r], 0)) / float64(n)); share >= by {
				resource, by = r, share
			}
		}
	}
	return resource, by
}

// resourceMiss says which resource none of the offerings has enough of or, where
// each alone could be had, what the type has that lacks the least.
func resourceMiss(a *assign.Assignment, need []int64, sold iter.Seq[int], nearest *model.Offering, r int) match.Miss {
	name := a.Space.Names[r]
	most, whole := int64(0), int64(0)
	for k := range sold {
		most = max(most, a.Offerings[k].Room[r])
		whole = max(whole, a.Offerings[k].Type.Allocatable()[name])
	}
	if most >= need[r] {
		return match.Miss{Kind: match.Resource, Key: name, Want: phrase(a, need, need), Have: phrase(a, nearest.Room, need), Hint: nearest.Type.Name}
	}
	m := match.Miss{Kind: match.Resource, Key: name, Want: amount.Phrase(name, need[r]), Have: amount.Text(name, most)}
	if whole >= need[r] {
		m.Have += " once DaemonSets run"
	}
	return m
}

// phrase spells the amounts of the resources that are asked for.
func phrase(a *assign.Assignment, v, asked []int64) string {
	var parts []string
	for r, name := range a.Space.Names {
		if asked[r] > 0 && name != amount.Pods && !assign.Pseudo(name) {
			parts = append(parts, amount.Phrase(name, v[r]))
		}
	}
	return strings.Join(parts, " and ")
}

func limitMiss(a *assign.Assignment, c *assign.Class, o *model.Options, p *model.Pool) match.Miss {
	left := a.Remaining()[p.Number]
	if left == nil {
		return match.Miss{}
	}
	for k := range fittingOf(a, c, o, p).All {
		if amount.Copies(a.Offerings[k].Capacity, left, 1) > 0 {
			return match.Miss{}
		}
	}
	for r, name := range a.Space.Names {
		limit, ok := p.Limits[name]
		if !ok {
			continue
		}
		least := int64(model.Plenty)
		for k := range fittingOf(a, c, o, p).All {
			least = min(least, a.Offerings[k].Capacity[r])
		}
		if least > left[r] && offer.IsReservation(name) {
			return match.Miss{Kind: match.Unavailable, Want: name + ": no more machines may be launched into it"}
		}
		if least > left[r] {
			return match.Miss{
				Kind: match.Limit, Key: name, Want: amount.Phrase(name, limit),
				Have: amount.Text(name, limit-left[r]), Hint: amount.Text(name, least),
			}
		}
	}
	return match.Miss{Kind: match.Limit}
}

// explain returns why the class has no place.
func explain(a *assign.Assignment, c *assign.Class) string {
	if c.Missing.Missed() {
		return c.Missing.String()
	}
	return diagnose(a, c)
}
