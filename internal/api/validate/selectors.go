package validate

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// selectorKind is what a selector finds.
type selectorKind struct {
	what    string // with its article
	prefix  string // of its ids
	id      *regexp.Regexp
	special []string // keys that do not name a tag
}

var (
	subnetSelector = selectorKind{
		"a subnet", "subnet-", regexp.MustCompile(`^subnet-[0-9a-z]+$`), []string{api.SelectorIDs, api.SelectorIDsLegacy},
	}
	securityGroupSelector = selectorKind{
		"a security group", "sg-", regexp.MustCompile(`^sg-[0-9a-z]+$`), []string{api.SelectorIDs, api.SelectorIDsLegacy},
	}
	amiSelector = selectorKind{
		"an image", "ami-", regexp.MustCompile(`^ami-[0-9a-z]+$`), []string{api.SelectorIDs, api.SelectorIDsLegacy, api.SelectorAMIName, api.SelectorAMIOwners},
	}
)

// validateSelector refuses keys that no tag can have and values that nothing
// can match.
func validateSelector(selector map[string]string, kind selectorKind, path *field.Path) finding.List {
	var errs finding.List
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		at, value := path.Key(key), selector[key]
		switch {
		case key == "":
			errs = append(errs, finding.Required(at, finding.Say("a tag needs a key"), finding.Say("write one, or remove the entry")))
		case key == api.SelectorIDs, key == api.SelectorIDsLegacy:
			errs = append(errs, kind.validateIDs(value, at)...)
		case slices.Contains(kind.special, key):
			errs = append(errs, validateAlternatives(value, at)...)
		case strings.HasPrefix(key, "aws::"):
			errs = append(errs, unsupported(at, key, kind.special))
		case utf8.RuneCountInString(key) > maxTagKey:
			errs = append(errs, finding.TooLong(at, maxTagKey, finding.Say("remove it, because no tag has so long a key")))
		default:
			errs = append(errs, validateTagFilter(key, value, at)...)
		}
	}
	return append(errs, validateBothIDs(selector, path)...)
}

func (k selectorKind) validateIDs(value string, path *field.Path) finding.List {
	errs := validateAlternatives(value, path)
	for _, id := range api.SplitList(value) {
		if !k.id.MatchString(id) && len(errs) == 0 {
			errs = append(errs, finding.Invalid(path, value, finding.Say("%q is not the id of %s", id, k.what), finding.Say("write ids such as %s0123456789abcdef0", k.prefix)))
		}
	}
	return errs
}

// validateBothIDs refuses two lists of ids with none in common.
func validateBothIDs(selector map[string]string, path *field.Path) finding.List {
	ids, legacy := api.SplitList(selector[api.SelectorIDs]), api.SplitList(selector[api.SelectorIDsLegacy])
	if len(ids) == 0 || len(legacy) == 0 || slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(legacy, id) }) {
		return nil
	}
	return finding.List{finding.Invalid(path.Key(api.SelectorIDsLegacy), selector[api.SelectorIDsLegacy], finding.Say("has no id in common with %s, so nothing can match", api.SelectorIDs), finding.Say("keep one of the two keys"))}
}

// validateTagFilter checks a tag's key and value. An empty value and * mean
// that the tag is there.
func validateTagFilter(key, value string, path *field.Path) finding.List {
	if errs := slices.Concat(checkQuotes(key, path), checkQuotes(value, path), finding.Rendered(key, path), finding.Rendered(value, path)); len(errs) > 0 {
		return errs
	}
	if strings.TrimSpace(value) == "" {
		return nil
	}
	return validateAlternatives(value, path)
}

func validateAlternatives(value string, path *field.Path) finding.List {
	if errs := slices.Concat(checkQuotes(value, path), finding.Rendered(value, path)); len(errs) > 0 {
		return errs
	}
	if len(api.SplitList(value)) == 0 {
		return finding.List{finding.Invalid(path, value, finding.Say("names nothing, so nothing can match"), finding.Say("write what it should match, or remove the key"))}
	}
	return nil
}
