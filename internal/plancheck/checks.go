package plancheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// fewPods is how many pods a node should at least take: the DaemonSets of a usual
// cluster take about half of that.
const fewPods = 8

// withoutSubnet reports zones that are asked for and have no subnet. Those of another
// region are reported as such.
func (s Subject) withoutSubnet() []Finding {
	region, err := s.Catalogue.Region(s.Region)
	if err != nil {
		return nil
	}
	sold := s.values(api.LabelZone)
	var out []Finding
	for _, c := range Claims(s.Provisioner) {
		if api.NormalizeLabel(c.Key) != api.LabelZone || c.Operator != api.OpIn {
			continue
		}
		for _, zone := range c.Values {
			if home := regionOf(zone); slices.Contains(sold, zone) || home != "" && home != s.Region {
				continue
			}
			text := fmt.Sprintf("zone %s has no subnet that the node profile selects", zone)
			if zones := slices.Sorted(maps.Keys(region.ZoneIDs)); len(zones) > 0 && !slices.Contains(zones, zone) {
				text = fmt.Sprintf("zone %s is none of %s: %s", zone, s.Region, strings.Join(zones, ", "))
			}
			out = append(out, Finding{Broken, c.Path, text, "Remove the zone, or let the node profile select a subnet there. The zones with subnets are " + strings.Join(sold, ", ") + "."})
		}
	}
	return out
}

// withoutImage reports architectures that are asked for and have no image.
func (s Subject) withoutImage(p Preview) []Finding {
	have := s.values(api.LabelArch)
	var out []Finding
	for _, c := range Claims(s.Provisioner) {
		if api.NormalizeLabel(c.Key) != api.LabelArch || c.Operator != api.OpIn {
			continue
		}
		for _, arch := range c.Values {
			if !slices.Contains(have, arch) {
				out = append(out, Finding{Broken, c.Path, fmt.Sprintf("architecture %s has no image that the node profile selects", arch),
					"Remove the architecture, or let ami_selector find an image for it. There are machines for " + strings.Join(p.Architectures, ", ") + "."})
			}
		}
	}
	return out
}

// few reports choices so narrow that a shortage leaves nothing to buy.
func few(p Preview) []Finding {
	var out []Finding
	doubt := func(text, advice string) { out = append(out, Finding{Doubtful, "", text, advice}) }
	if len(p.Types) == 1 {
		doubt("only one instance type can be bought: "+p.Types[0].Name, "When it is out of stock, nothing can be bought. Allow several sizes or families.")
	}
	if zones := p.Zones(); len(zones) == 1 {
		doubt("machines can be bought in one zone only: "+zones[0], "When the zone fails or runs out of stock, nothing can be bought. Allow several zones.")
	}
	if kinds := p.CapacityTypes(); len(kinds) == 1 && kinds[0] == api.CapacitySpot {
		doubt("only spot capacity can be bought", "When there is none, pods stay pending. Allow on-demand too, or have another provisioner with a lower weight that does.")
	}
	return out
}

// Choice reports labels of which the types that may be bought have fewer values than a
// launch request has to offer.
func (s Subject) Choice(types []offer.InstanceType) []Finding {
	var out []Finding
	for _, c := range Claims(s.Provisioner) {
		if c.MinValues == nil {
			continue
		}
		values := map[string]bool{}
		for i := range types {
			for _, v := range valuesOf(&types[i], api.NormalizeLabel(c.Key)) {
				values[v] = true
			}
		}
		if want := int(*c.MinValues); len(values) < want {
			out = append(out, Finding{
				Broken, c.Path, fmt.Sprintf("minValues demands a choice of %d values of %s, and what can be bought has %d", want, c.Key, len(values)),
				"Lower min_values, or allow more.",
			})
		}
	}
	return out
}

// limits reports those that allow not even the smallest machine. 0 is a freeze
// and meant.
func (s Subject) limits(p Preview) []Finding {
	if s.Provisioner.Spec.Limits == nil {
		return nil
	}
	var out []Finding
	limits := amount.FromResourceList(s.Provisioner.Spec.Limits.Resources)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		smallest := slices.MinFunc(p.Types, func(a, b offer.InstanceType) int { return int(a.Capacity[name] - b.Capacity[name]) })
		if limit := limits[name]; limit > 0 && limit < smallest.Capacity[name] {
			has, allowed := amount.Quantity(name, smallest.Capacity[name]), amount.Quantity(name, limit)
			out = append(out, Finding{
				Broken, fmt.Sprintf("spec.limits.resources[%s]", name),
				fmt.Sprintf("%s %s is less than the smallest machine has: %s with %s", name, allowed.String(), smallest.Name, has.String()),
				"Raise the limit, allow smaller machines, or set the limit to 0 if nothing is to be bought.",
			})
		}
	}
	return out
}

func pods(p Preview) []Finding {
	small := slices.DeleteFunc(slices.Clone(p.Types), func(t offer.InstanceType) bool { return t.Capacity[amount.Pods] >= fewPods })
	if len(small) == 0 {
		return nil
	}
	return []Finding{{
		Doubtful, "", fmt.Sprintf("%d of %d instance types take fewer than %d pods: %s", len(small), len(p.Types), fewPods, names(small)),
		"The pods of DaemonSets take most of that. Ask for more with karpenter.k8s.aws/instance-pods or larger sizes.",
	}}
}

// names lists the first few types.
func names(types []offer.InstanceType) string {
	const most = 3
	var out []string
	for i, t := range types {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, t.Name)
	}
	return strings.Join(out, ", ")
}

// say spells a requirement.
func say(r api.Requirement) string {
	if len(r.Values) == 0 {
		return r.Key + " " + string(r.Operator)
	}
	return fmt.Sprintf("%s %s [%s]", r.Key, r.Operator, strings.Join(r.Values, ", "))
}

func indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
