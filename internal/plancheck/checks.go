package plancheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// fewPods is how many pods a node should at least take: the DaemonSets of a usual
// cluster take about half of that.
const fewPods = 8

// withoutSubnet reports zones that are asked for and have no subnet. Those of another
// region are reported as such.
func (s Subject) withoutSubnet() finding.List {
	region, err := s.Catalogue.Region(s.Region)
	if err != nil {
		return nil //nolint:nilerr // a region that is not known is reported elsewhere
	}
	sold := distinct(s.Market.Types, api.LabelZone)
	var out finding.List
	for _, c := range Claims(s.Provisioner) {
		if api.NormalizeLabel(c.Key) != api.LabelZone || c.Operator != api.OpIn {
			continue
		}
		for _, zone := range c.Values {
			if home := regionOf(zone); slices.Contains(sold, zone) || home != "" && home != s.Region {
				continue
			}
			text := finding.Say("zone %s has no subnet that the node profile selects", zone)
			if zones := slices.Sorted(maps.Keys(region.ZoneIDs)); len(zones) > 0 && !slices.Contains(zones, zone) {
				text = finding.Say("zone %s is not a zone of %s: %s", zone, s.Region, strings.Join(zones, ", "))
			}
			out = append(out, broken(c.Path, text,
				finding.Say("remove the zone, or let the node profile select a subnet there. The zones with subnets are %s", strings.Join(sold, ", "))))
		}
	}
	return out
}

// withoutImage reports architectures that are asked for and have no image.
func (s Subject) withoutImage(p Preview) finding.List {
	have := distinct(s.Market.Types, api.LabelArch)
	var out finding.List
	for _, c := range Claims(s.Provisioner) {
		if api.NormalizeLabel(c.Key) != api.LabelArch || c.Operator != api.OpIn {
			continue
		}
		for _, arch := range c.Values {
			if !slices.Contains(have, arch) {
				out = append(out, broken(c.Path, finding.Say("architecture %s has no image that the node profile selects", arch),
					finding.Say("remove the architecture, or let ami_selector find an image for it. There are machines for %s", strings.Join(p.Architectures, ", "))))
			}
		}
	}
	return out
}

// few reports choices so narrow that a shortage leaves nothing to buy.
func few(p Preview) finding.List {
	var out finding.List
	doubt := func(text, advice finding.Message) { out = append(out, doubtful("", text, advice)) }
	if len(p.Types) == 1 {
		doubt(finding.Say("only one instance type can be bought: %s", p.Types[0].Name), finding.Say("when it is out of stock, nothing can be bought. Allow several sizes or families"))
	}
	if zones := p.Zones(); len(zones) == 1 {
		doubt(finding.Say("machines can be bought in one zone only: %s", zones[0]), finding.Say("when the zone fails or runs out of stock, nothing can be bought. Allow several zones"))
	}
	if kinds := p.CapacityTypes(); len(kinds) == 1 && kinds[0] == api.CapacitySpot {
		doubt(finding.Say("only spot capacity can be bought"), finding.Say("when there is none, pods stay pending. Allow on-demand too, or have another provisioner with a lower weight that does"))
	}
	return out
}

// Choice reports labels of which the types that may be bought have fewer values than a
// launch request has to offer.
func (s Subject) Choice(types []offer.InstanceType) finding.List {
	var out finding.List
	for _, c := range Claims(s.Provisioner) {
		if c.MinValues == nil {
			continue
		}
		if want, has := int(*c.MinValues), len(distinct(types, api.NormalizeLabel(c.Key))); has < want {
			least := finding.Field{Path: c.Path + ".minValues", Name: "minValues"}
			out = append(out, broken(c.Path,
				finding.Say("%s demands a choice of %d values of %s, and what can be bought has %d", least, want, c.Key, has),
				finding.Say("lower %s, or allow more", least)))
		}
	}
	return out
}

// limits reports those that do not even allow the smallest machine. A limit of 0 is intended:
// it freezes the Provisioner.
func (s Subject) limits(p Preview) finding.List {
	if s.Provisioner.Spec.Limits == nil {
		return nil
	}
	var out finding.List
	limits := amount.FromResourceList(s.Provisioner.Spec.Limits.Resources)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		smallest := slices.MinFunc(p.Types, func(a, b offer.InstanceType) int { return int(a.Capacity[name] - b.Capacity[name]) })
		if limit := limits[name]; limit > 0 && limit < smallest.Capacity[name] {
			has, allowed := amount.Rounded(name, smallest.Capacity[name]), amount.Quantity(name, limit)
			if has.Cmp(allowed) <= 0 {
				has = amount.Quantity(name, smallest.Capacity[name])
			}
			out = append(out, broken(fmt.Sprintf("spec.limits.resources[%s]", name),
				finding.Say("%s %s is less than the smallest machine has: %s with %s", name, allowed.String(), smallest.Name, has.String()),
				finding.Say("raise the limit, allow smaller machines, or set the limit to 0 if nothing is to be bought")))
		}
	}
	return out
}

func pods(p Preview) finding.List {
	small := slices.DeleteFunc(slices.Clone(p.Types), func(t offer.InstanceType) bool { return t.Capacity[amount.Pods] >= fewPods })
	if len(small) == 0 {
		return nil
	}
	return finding.List{doubtful("",
		finding.Say("%d of %d instance types take fewer than %d pods: %s", len(small), len(p.Types), fewPods, names(small)),
		finding.Say("the pods of DaemonSets take most of that. Ask for more with karpenter.k8s.aws/instance-pods or larger sizes"))}
}

// names lists the first few types.
func names(types []offer.InstanceType) string {
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = t.Name
	}
	return first(all)
}

// first lists the first few names.
func first(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// say spells a requirement.
func say(r api.Requirement) string {
	if len(r.Values) == 0 {
		return r.Key + " " + string(r.Operator)
	}
	return fmt.Sprintf("%s %s [%s]", r.Key, r.Operator, strings.Join(r.Values, ", "))
}
