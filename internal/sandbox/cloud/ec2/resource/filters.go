package resource

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// Attributes are what the filters of an EC2 call can look at, by filter name.
type Attributes map[string][]string

// WithTags adds the attributes that tags have: "tag:<key>" and "tag-key".
func (a Attributes) WithTags(tags map[string]string) Attributes {
	a["tag-key"] = account.SortedKeys(tags)
	for key, value := range tags {
		a["tag:"+key] = []string{value}
	}
	return a
}

// Matches tells whether all filters hold. The values of one are
// alternatives and may have wildcards. A filter that the call does not know is
// an error.
func Matches(filters []types.Filter, have Attributes) (bool, error) {
	matches := true
	for _, filter := range filters {
		name := account.Deref(filter.Name)
		values, known := have[name]
		if !known && !strings.HasPrefix(name, "tag:") {
			return false, account.Fail("InvalidParameterValue", "The filter '%s' is invalid", name)
		}
		if !anyMatches(filter.Values, values) {
			matches = false
		}
	}
	return matches, nil
}

func anyMatches(patterns, values []string) bool {
	for _, pattern := range patterns {
		for _, value := range values {
			if policy.Match(pattern, value) {
				return true
			}
		}
	}
	return false
}

// Selected returns the items that pass the filters.
func Selected[T any](items []T, filters []types.Filter, describe func(T) Attributes) ([]T, error) {
	var kept []T
	for _, item := range items {
		ok, err := Matches(filters, describe(item))
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, item)
		}
	}
	return kept, nil
}
