package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// maxColours is how many hues people can tell apart, also colour-blind ones. The
// style sheet has the palette of Okabe and Ito for them, and viridis for what has
// an order.
const maxColours = 8

// colour gives the largest workloads a colour each. Where they are not even half
// of the picture, colours tell apart what pods are like instead.
func (p *picture) colour(fleet []box) {
	weight, total := map[string]float64{}, map[string]amount.List{}
	for i := range fleet {
		for _, l := range fleet[i].Loads {
			all := l.Each.Times(l.Pods * float64(fleet[i].count))
			total[l.Workload] = total[l.Workload].Plus(all)
			for _, name := range p.columns {
				weight[l.Workload] += p.scale[name] * float64(all[name])
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(weight), func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), strings.Compare(a, b))
	})
	named, all := 0.0, 0.0
	for i, name := range names {
		all += weight[name]
		if i < maxColours {
			named += weight[name]
		}
	}
	if named >= all/2 {
		p.colourByName(names)
	} else {
		p.colourByShape(total)
	}
	p.explainRest(fleet)
}

func (p *picture) colourByName(names []string) {
	for i, name := range names {
		if i == maxColours {
			p.legend = append(p.legend, entry{"other", explain.Plural(len(names)-i, "other workload")})
		}
		if i >= maxColours {
			p.classes[name] = "other"
			continue
		}
		p.classes[name] = fmt.Sprintf("w%d", i)
		p.legend = append(p.legend, entry{p.classes[name], name})
	}
}

// shapes are classes of workloads by memory per core. The families of compute,
// general and memory optimised machines lie in the second, third and fourth.
var shapes = []struct {
	entry
	below float64 // GiB per core
}{
	{entry{"s0", "pods with less than 1.5 GiB per core"}, 1.5},
	{entry{"s1", "1.5 to 3"}, 3},
	{entry{"s2", "3 to 6"}, 6},
	{entry{"s3", "6 to 12"}, 12},
	{entry{"s4", "12 and more"}, math.Inf(1)},
}

func (p *picture) colourByShape(total map[string]amount.List) {
	for name, l := range total {
		perCore := float64(l[amount.Memory]) / (1 << 30) / (float64(max(1, l[amount.CPU])) / 1000)
		for _, s := range shapes {
			if perCore < s.below {
				p.classes[name] = s.Class
				break
			}
		}
	}
	for _, s := range shapes {
		p.legend = append(p.legend, s.entry)
	}
}

// explainRest adds to the legend what is not a workload.
func (p *picture) explainRest(fleet []box) {
	held, existing := false, false
	for i := range fleet {
		existing = existing || fleet[i].Exists
		held = held || slices.ContainsFunc(p.columns, func(name string) bool { return fleet[i].Held[name] > 0 })
	}
	switch {
	case held && existing:
		p.legend = append(p.legend, entry{"held", "DaemonSets and pods that run already"})
	case held:
		p.legend = append(p.legend, entry{"held", "DaemonSets"})
	}
	p.legend = append(p.legend, entry{"free", "free room"})
}
