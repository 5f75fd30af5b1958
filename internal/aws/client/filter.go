package client

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Filter matches resources whose property has one of the values.
func Filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

// TagFilter matches resources whose tag has one of the values. "*" or no value at all
// matches any value.
func TagFilter(key string, values []string) types.Filter {
	if len(values) == 0 || slices.Contains(values, "*") {
		return Filter("tag-key", key)
	}
	return Filter("tag:"+key, values...)
}
