package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// rules collects what the API server's rules say against an object. They are those of
// the definitions that Karpenter 1.14 publishes, schema and CEL. What those rules let
// through is let through here too, even where a rule is narrower than its message.
type rules struct{ found finding.List }

// refuse notes that a rule is broken.
func (r *rules) refuse(path, text, advice string) {
	r.found = append(r.found, finding.Finding{Severity: finding.Error, Path: path, Text: finding.Plain(text), Advice: finding.Plain(advice)})
}

// require refuses a field that is missing.
func (r *rules) require(path string, there bool, advice string) bool {
	if !there {
		r.refuse(path, "is required", advice)
	}
	return there
}

// format is the syntax of a text, in words and as a pattern.
type format struct {
	pattern *regexp.Regexp
	words   string
}

// in checks an optional text against a format.
func (r *rules) in(f format, path string, value *string) {
	if value != nil && !f.pattern.MatchString(*value) {
		r.refuse(path, fmt.Sprintf("%q is not %s", *value, f.words), "")
	}
}

// choose checks an optional text against the values that are allowed.
func (r *rules) choose(path string, value *string, allowed ...string) {
	if value == nil || slices.Contains(allowed, *value) {
		return
	}
	advice := "use one of " + strings.Join(allowed, ", ")
	if near, ok := api.Suggest(*value, allowed); ok {
		advice = "did you mean " + near + "?"
	}
	r.refuse(path, fmt.Sprintf("%q is not allowed", *value), advice)
}

// number checks an optional number against inclusive bounds.
func number[N int32 | int64](r *rules, path string, value *N, low, high N) {
	if value != nil && (*value < low || *value > high) {
		r.refuse(path, fmt.Sprintf("%d is not from %d to %d", *value, low, high), "")
	}
}

// most checks the length of a list or of a map.
func (r *rules) most(path string, length, most int) {
	if length > most {
		r.refuse(path, fmt.Sprintf("has %d entries", length), fmt.Sprintf("at most %d are allowed", most))
	}
}

// The formats of texts.
var (
	qualifiedName = format{
		regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`),
		"a name with letters, digits, -, _ and ., after a domain and a slash or without them",
	}
	labelValue = format{regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`), "the value of a label"}
	lifetime   = format{regexp.MustCompile(`^(([0-9]+(s|m|h))+|Never)$`), "Never or a duration such as 30s or 1h30m"}
	grace      = format{regexp.MustCompile(`^([0-9]+(s|m|h))+$`), "a duration such as 30s or 1h30m"}
	duration   = format{regexp.MustCompile(`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`), "a duration in hours and minutes, such as 1h30m"}
	schedule   = format{
		regexp.MustCompile(`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$`),
		"a cron expression with five fields, such as 0 9 * * mon-fri",
	}
	share          = format{regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`), "a number or a percentage up to 100%"}
	quantity       = format{regexp.MustCompile(quantityPattern), "a quantity such as 100m or 1Gi"}
	signalLevel    = format{regexp.MustCompile(`^((\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%||` + strings.Trim(quantityPattern, "^$") + `)$`), "a percentage or a quantity, such as 5% or 100Mi"}
	subnetID       = format{regexp.MustCompile(`subnet-[0-9a-z]+`), "the id of a subnet"}
	groupID        = format{regexp.MustCompile(`sg-[0-9a-z]+`), "the id of a security group"}
	imageID        = format{regexp.MustCompile(`ami-[0-9a-z]+`), "the id of an image"}
	reservationID  = format{regexp.MustCompile(`^cr-[0-9a-z]+$`), "the id of a capacity reservation"}
	placementID    = format{regexp.MustCompile(`^pg-[0-9a-z]+$`), "the id of a placement group"}
	accountID      = format{regexp.MustCompile(`^[0-9]{12}$`), "the id of an account, 12 digits"}
	imageAlias     = format{regexp.MustCompile(`^[a-zA-Z0-9]+@.+$`), "a family and a version, such as al2023@latest"}
	withoutSlashes = format{regexp.MustCompile(`^[^/]*$`), "an API group: it comes without a version"}
	volumeSize     = format{
		regexp.MustCompile(`^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|[6][0-3][0-9]{3}|64000)G|([1-9]||[1-5][0-7]|58)Ti|([1-9]||[1-5][0-9]|6[0-3]|64)T)$`),
		"a size in Gi, G, Ti or T, such as 20Gi",
	}
)

const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
