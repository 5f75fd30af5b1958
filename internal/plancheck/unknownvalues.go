package plancheck

import (
	"regexp"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

var (
	regionName = regexp.MustCompile(`^[a-z]{2}(?:-[a-z]+)+-[0-9]$`)
	zoneID     = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*-az[0-9]$`)
)

// noZones reports values that no zone has for its name in any region, by their form.
func noZones(claim Claim) finding.List {
	var out finding.List
	for _, value := range claim.Values {
		lower := strings.ToLower(value)
		switch {
		case lower != value && regionOf(lower) != "":
			out = append(out, doubtful(claim.Path, finding.Say("no zone is called %q", value), finding.Say("did you mean %q?", lower)))
		case regionName.MatchString(value):
			out = append(out, doubtful(claim.Path, finding.Say("%q is a region and no zone", value), finding.Say("name its zones, such as %sa", value)))
		case zoneID.MatchString(value):
			out = append(out, doubtful(claim.Path, finding.Say("%q is the ID of a zone", value), finding.Say("write the name of the zone, such as us-east-1a")))
		}
	}
	return out
}

// UnknownValues reports values of a Provisioner's requirements that no instance type in
// the world has, and instance types that exist elsewhere but not in the region. They
// have no effect beside values that machines have. With region "" any will do. Excluded values
// are reported only if they can be nothing but slips: what AWS does not sell yet may be excluded.
func UnknownValues(p *api.Provisioner, c *offer.Catalogue, region string) finding.List {
	var out finding.List
	for _, claim := range Claims(p) {
		key := api.NormalizeLabel(claim.Key)
		if claim.Operator != api.OpIn && claim.Operator != api.OpNotIn || claim.Path == "" || key == api.LabelArch {
			continue
		}
		if key == api.LabelZone {
			out = append(out, noZones(claim)...)
			continue
		}
		known := everywhere(c, key)
		if len(known) == 0 {
			continue
		}
		for _, value := range claim.Values {
			switch {
			case claim.Operator == api.OpNotIn:
				if meant, slip := slipOf(key, value, known); slip {
					f := nowhere(claim, value, known)
					out = append(out, doubtful(f.Path, finding.Say("%s, so this excludes nothing", f.Text), finding.Say("did you mean %q?", meant)))
				}
			case !slices.Contains(known, value):
				out = append(out, nowhere(claim, value, known))
			case key == api.LabelInstanceType && region != "" && !sold(c, region, value):
				out = append(out, doubtful(claim.Path, finding.Say("%s exists, but not in %s", value, region),
					finding.Say("remove it, or replace it with a type that the region sells")))
			}
		}
	}
	return out
}

// ForeignZones reports zones of another region than the one that is looked at, which
// their names tell. By says how that region is set, such as "with --region".
func ForeignZones(p *api.Provisioner, region, by string) finding.List {
	var out finding.List
	for _, claim := range Claims(p) {
		if claim.Operator != api.OpIn || api.NormalizeLabel(claim.Key) != api.LabelZone {
			continue
		}
		for _, zone := range claim.Values {
			if home := regionOf(zone); home != "" && home != region {
				out = append(out, broken(claim.Path, finding.Say("zone %s is in %s, not in %s", zone, home, region),
					finding.Say("correct the zone, or set its region %s", by)))
			}
		}
	}
	return out
}

// zoneName takes a zone apart: its region, and a letter.
var zoneName = regexp.MustCompile(`^([a-z]{2}(?:-[a-z]+)+-[0-9])[a-z]$`)

// regionOf is the region in a zone's name, empty for a name of another form, such as a
// local zone's.
func regionOf(zone string) string {
	if parts := zoneName.FindStringSubmatch(zone); parts != nil {
		return parts[1]
	}
	return ""
}

// nowhere is about a value that no instance type has. A type of a size that no type
// has is a misspelling; AWS may have come to sell other families since.
func nowhere(claim Claim, value string, known []string) finding.Finding {
	out := doubtful(claim.Path, finding.Say("no instance type has %s %q", claim.Key, value), finding.Say("remove it, unless it is newer than the catalogue"))
	if api.NormalizeLabel(claim.Key) == api.LabelInstanceType {
		out.Text = finding.Say("the instance type %q does not exist", value)
	}
	meant, ok := api.Suggest(value, known)
	if !ok {
		return out
	}
	out.Advice = finding.Say("did you mean %q?", meant)
	if _, size, isType := strings.Cut(value, "."); isType && !slices.ContainsFunc(known, func(k string) bool { return strings.HasSuffix(k, "."+size) }) {
		out.Severity = finding.Error
	}
	return out
}

// slipOf returns the value that was meant where another one of the label can be nothing but a slip: in case and separators,
// or in the letters of a size.
func slipOf(key, value string, known []string) (meant string, slip bool) {
	meant, ok := api.Suggest(value, known)
	switch {
	case !ok || meant == value:
		return "", false
	case suggest.Same(meant, value):
		return meant, true
	case key == api.LabelInstanceSize:
		return meant, letters(value) != letters(meant)
	case key != api.LabelInstanceType:
		return "", false
	}
	family, size, _ := strings.Cut(value, ".")
	knownFamily, knownSize, _ := strings.Cut(meant, ".")
	return meant, family == knownFamily && letters(size) != letters(knownSize)
}

// letters leaves out the numbers, which grow with each generation.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, name)
}

// everywhere lists the values of a label in the catalogue and in the embedded one,
// which knows types of other regions too; none for labels that do not follow from
// the instance type.
func everywhere(c *offer.Catalogue, key string) []string {
	out := c.Values(key)
	if embedded := offer.Embedded(); c != embedded {
		out = append(out, embedded.Values(key)...)
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

func sold(c *offer.Catalogue, region, instanceType string) bool {
	r, err := c.Region(region)
	if err != nil {
		return true // which is reported elsewhere
	}
	_, ok := r.Sales[instanceType]
	return ok
}
