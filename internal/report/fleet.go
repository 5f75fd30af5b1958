package report

import (
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// kind is what a reader takes for one sort of machine: everything but the content
// is the same.
type kind struct {
	Provisioner                      string
	Exists                           bool
	InstanceType, Zone, CapacityType string
	HourlyPrice                      float64
	State                            string
}

// box is a machine with its content, or several machines that hold the same.
type box struct {
	explain.Content
	count   int
	average bool // of count machines that do not hold the same
}

func boxes(fleet []explain.Content) []box {
	out := make([]box, len(fleet))
	for i := range fleet {
		out[i] = box{Content: fleet[i], count: 1}
	}
	return out
}

func (b *box) kind() kind {
	return kind{b.Provisioner, b.Exists, b.InstanceType, b.Zone, b.CapacityType, b.HourlyPrice, b.State}
}

// fold merges boxes that hold the same, in order of first appearance.
func fold(boxes []box) []box {
	var out []box
	index := map[kind][]int{}
	for i := range boxes {
		b := &boxes[i]
		alike := index[b.kind()]
		at := slices.IndexFunc(alike, func(at int) bool { return sameContent(&out[at], b) })
		if at < 0 {
			index[b.kind()] = append(alike, len(out))
			out = append(out, *b)
			continue
		}
		out[alike[at]].count += b.count
	}
	return out
}

func sameContent(a, b *box) bool {
	return maps.Equal(a.Allocatable, b.Allocatable) && maps.Equal(a.Held, b.Held) &&
		slices.EqualFunc(a.Loads, b.Loads, func(x, y explain.Load) bool {
			return x.Workload == y.Workload && x.Pods == y.Pods && maps.Equal(x.Each, y.Each)
		})
}

// average returns one box for several of a kind, with the mean of everything.
func average(boxes []box) box {
	out := box{Content: boxes[0].Content, average: true}
	out.Allocatable, out.Held, out.Loads = nil, nil, nil
	for _, b := range boxes {
		n := float64(b.count)
		out.count += b.count
		out.Allocatable = out.Allocatable.Plus(b.Allocatable.Times(n))
		out.Held = out.Held.Plus(b.Held.Times(n))
		for _, l := range b.Loads {
			l.Pods *= n
			out.Loads = append(out.Loads, l)
		}
	}
	share := 1 / float64(out.count)
	out.Allocatable, out.Held = out.Allocatable.Times(share), out.Held.Times(share)
	slices.SortStableFunc(out.Loads, explain.CompareLoads)
	merged := out.Loads[:0]
	for _, l := range out.Loads {
		l.Pods *= share
		if last := len(merged) - 1; last >= 0 && explain.CompareLoads(merged[last], l) == 0 {
			merged[last].Pods += l.Pods
			continue
		}
		merged = append(merged, l)
	}
	out.Loads = merged
	return out
}
