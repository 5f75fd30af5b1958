package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// The selectors of an EC2NodeClass are lists of terms of which any may match. They are
// served as they are, and merged into one selector for a node profile.

func (o *Object) subnets(terms []kinds.SubnetTerm) (served []map[string]string, merged map[string]string) {
	const path = "spec.subnetSelectorTerms"
	for _, t := range terms {
		served = append(served, o.selector(path, t.Tags, map[string]*string{api.SelectorIDs: t.ID}))
	}
	return served, o.merge(path, served)
}

func (o *Object) groups(terms []kinds.GroupTerm) (served []map[string]string, merged map[string]string) {
	const path = "spec.securityGroupSelectorTerms"
	for i, t := range terms {
		served = append(served, o.selector(path, t.Tags, map[string]*string{api.SelectorIDs: t.ID, api.SelectorGroupName: t.Name}))
		if ptr.Deref(t.Name, "") != "" {
			o.leave(fmt.Sprintf("%s[%d].name", path, i), "is not the tag Name: select by tags or ids")
		}
	}
	return served, o.merge(path, without(served, api.SelectorGroupName))
}

func (o *Object) imageTerms(terms []kinds.ImageTerm) (served []map[string]string, merged map[string]string) {
	const path = "spec.amiSelectorTerms"
	for i, t := range terms {
		served = append(served, o.selector(path, t.Tags, map[string]*string{
			api.SelectorIDs: t.ID, api.SelectorAMIName: t.Name, api.SelectorAMIOwners: t.Owner, api.SelectorParameter: t.SSMParameter,
		}))
		if ptr.Deref(t.SSMParameter, "") != "" {
			o.leave(fmt.Sprintf("%s[%d].ssmParameter", path, i), "select the image that it holds by its id")
		}
	}
	return served, o.merge(path, without(served, api.SelectorParameter))
}

// reservations returns the terms that select capacity reservations.
func reservations(terms []kinds.ReservationTerm) (served []map[string]string) {
	for _, t := range terms {
		served = append(served, selectorOf(t.Tags, map[string]*string{
			api.SelectorIDs: t.ID, api.SelectorReservationOwner: t.OwnerID, api.SelectorReservationMatch: t.InstanceMatchCriteria,
		}))
	}
	return served
}

// selector is a term as a selector. In a selector a comma separates alternatives.
func (o *Object) selector(path string, tags map[string]string, others map[string]*string) map[string]string {
	out := selectorOf(tags, others)
	for _, key := range slices.Sorted(maps.Keys(out)) {
		what := fmt.Sprintf("the value %q of the tag %s", out[key], key)
		if _, other := others[key]; other {
			what = fmt.Sprintf("%q", out[key])
		}
		if strings.Contains(out[key], ",") {
			o.refuse(path+" with a comma", what+" would mean one of several")
		}
	}
	return out
}

// selectorOf has the tags of a term, and by other keys what else it says.
func selectorOf(tags map[string]string, others map[string]*string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, tags)
	for key, value := range others {
		if text := ptr.Deref(value, ""); text != "" {
			out[key] = text
		}
	}
	return out
}

// without returns the selectors without a key.
func without(selectors []map[string]string, key string) []map[string]string {
	var out []map[string]string
	for _, s := range selectors {
		own := maps.Clone(s)
		delete(own, key)
		out = append(out, own)
	}
	return out
}

// merge makes one selector, all keys of which must match, if that can mean the same.
func (o *Object) merge(path string, terms []map[string]string) map[string]string {
	if len(terms) == 0 {
		return nil
	}
	merged, ok := alternatives(terms)
	if !ok {
		o.leave(path, "any of several terms may match there, and only one selector here: the first term was kept; "+
			"tag what the others find, or list ids with "+api.SelectorIDs)
		return terms[0]
	}
	return merged
}

// alternatives joins terms that have the same keys, and differ in the value of one key only.
func alternatives(terms []map[string]string) (map[string]string, bool) {
	out, varying := maps.Clone(terms[0]), ""
	for _, term := range terms[1:] {
		if len(term) != len(out) {
			return nil, false
		}
		for key, value := range out {
			switch other, has := term[key]; {
			case !has, other != value && varying != "" && varying != key:
				return nil, false
			case other != value:
				varying = key
				out[key] += "," + other
			}
		}
	}
	return out, true
}
