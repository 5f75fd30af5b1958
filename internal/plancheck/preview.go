package plancheck

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// doubtful is about something that works, but is probably not what its author meant.
func doubtful(path string, text, advice finding.Message) finding.Finding {
	return finding.Finding{Path: path, Text: text, Advice: advice}
}

// broken is about something because of which nothing can be bought, or not all that is asked
// for.
func broken(path string, text, advice finding.Message) finding.Finding {
	return finding.Finding{Severity: finding.Error, Path: path, Text: text, Advice: advice}
}

// Subject is a Provisioner with what it may buy.
type Subject struct {
	Provisioner *api.Provisioner // as written
	Market      offer.Market
	// Catalogue and Region are all that could be bought, with subnets and images
	// for it.
	Catalogue *offer.Catalogue
	Region    string
	// RegionBy says how the region is set, such as "with --region".
	RegionBy string
}

// Preview is what the Provisioner may buy.
type Preview struct {
	Selection
	Architectures []string // sorted
	// FewestPods and MostPods are per node.
	FewestPods, MostPods int64
}

// Look says what a Provisioner may buy, and what is wrong with it.
func Look(s Subject) (Preview, finding.List) {
	out := Preview{Selection: Select(s.Market.Types, Claims(s.Provisioner))}
	if s.Market.Blocked != "" {
		return out, finding.List{broken("", finding.Say("nothing can be bought: %s", s.Market.Blocked),
			finding.Say("correct the node profile, or what it selects by tags"))}
	}
	unknown := slices.Concat(ForeignZones(s.Provisioner, s.Region, s.RegionBy), UnknownValues(s.Provisioner, s.Catalogue, s.Region))
	if len(out.Types) == 0 {
		return out, s.nothing(out.Selection, unknown)
	}
	if unpriced(out.Types) {
		return out, append(unknown, broken("", finding.Say("nothing can be bought: the on-demand price of %s is not known", names(out.Types)),
			finding.Say("allow other instance types, or spot capacity")))
	}
	out.FewestPods, out.MostPods = podsPerNode(out.Types)
	out.Architectures = distinct(out.Types, api.LabelArch)
	findings := slices.Concat(unknown, s.withoutSubnet(), s.withoutImage(out), few(out), s.Choice(out.Types), s.limits(out), pods(out))
	return out, findings
}

// nothing names the requirement that removed the last type. Unknown values among its values
// say why it did.
func (s Subject) nothing(sel Selection, unknown finding.List) finding.List {
	if sel.Last == nil {
		none := broken("", finding.Say("no instance type of %s can be bought", s.Region),
			finding.Say("correct the node profile: no instance type that is sold in its zones runs one of its images"))
		return append(finding.List{none}, unknown...)
	}
	text := finding.Plain(sel.Nothing())
	advice := finding.Say("allow more here, or relax the requirements before it")
	var others finding.List
	var why []string
	for _, f := range unknown {
		if f.Path == sel.Last.Path && f.Path != "" {
			why = append(why, f.Text.String()+". "+finding.Sentence(f.Advice.String()))
		} else {
			others = append(others, f)
		}
	}
	switch {
	case sel.Last.Path == "":
		text = finding.Say("%s, by default", text)
		advice = finding.Say("set a requirement on %s, so that the default does not apply", sel.Last.Key)
	case len(why) > 0:
		advice = finding.Plain(strings.Join(why, " "))
	default:
		if hint := s.hint(sel.Last.Requirement); !hint.Empty() {
			advice = hint
		}
	}
	return append(finding.List{broken(sel.Last.Path, text, advice)}, others...)
}

// unpriced reports whether no price of any offering is known.
func unpriced(types []offer.InstanceType) bool {
	return !slices.ContainsFunc(types, func(t offer.InstanceType) bool {
		return slices.ContainsFunc(t.Offerings, func(o offer.Offering) bool { return o.Price > 0 })
	})
}

// hint says what was probably meant by a zone or another value that is offered
// nowhere in the region.
func (s Subject) hint(r api.Requirement) (hint finding.Message) {
	if r.Operator != api.OpIn {
		return hint
	}
	known := distinct(s.Market.Types, api.NormalizeLabel(r.Key))
	if slices.ContainsFunc(r.Values, func(v string) bool { return slices.Contains(known, v) }) {
		return hint
	}
	for _, v := range r.Values {
		if meant, ok := api.Suggest(v, known); ok {
			return finding.Say("there is no %q in %s: did you mean %q?", v, s.Region, meant)
		}
	}
	return hint
}

func podsPerNode(types []offer.InstanceType) (fewest, most int64) {
	fewest = types[0].Capacity[amount.Pods]
	for _, t := range types {
		fewest, most = min(fewest, t.Capacity[amount.Pods]), max(most, t.Capacity[amount.Pods])
	}
	return fewest, most
}
