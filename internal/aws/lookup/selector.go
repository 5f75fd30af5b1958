package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// Names of the filters by which EC2 finds resources by id.
const (
	filterSubnetID        = "subnet-id"
	filterSecurityGroupID = "group-id"
	filterImageID         = "image-id"
)

// filters translates a selector into filters, sorted by key. Every key must match one of its
// comma-separated alternatives, which may contain wildcards.
func filters(selector map[string]string, idFilter string) []types.Filter {
	var out []types.Filter
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		alternatives := api.SplitList(selector[key])
		switch key {
		case api.SelectorIDs, api.SelectorIDsLegacy:
			out = append(out, client.Filter(idFilter, alternatives...))
		case api.SelectorAMIName:
			out = append(out, client.Filter("name", alternatives...))
		case api.SelectorGroupName:
			out = append(out, client.Filter("group-name", alternatives...))
		case api.SelectorAMIOwners: // the request has a field for it
		default:
			out = append(out, client.TagFilter(key, alternatives))
		}
	}
	return out
}

// errAbsent means that what a selector names does not exist. It may be being replaced, so what the selector found before
// counts until that is outdated.
var errAbsent = errors.New("it does not exist")

// anyOf returns what each of the selectors finds, from the memo or by asking. What several
// selectors find is repeated.
func anyOf[T any](ctx context.Context, found *client.Memo[[]T], selectors []map[string]string, ask func(context.Context, map[string]string) ([]T, error)) ([]T, error) {
	var out []T
	for _, selector := range selectors {
		list, err := found.Get(ctx, selectorKey(selector), func(ctx context.Context) ([]T, error) { return ask(ctx, selector) })
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// SelectorKeys describes selectors for messages, joined by "or".
func SelectorKeys(selectors []map[string]string) string {
	keys := make([]string, len(selectors))
	for i, s := range selectors {
		keys[i] = selectorKey(s)
	}
	return strings.Join(keys, " or ")
}

// selectorKey returns a selector as JSON, which identifies it and describes it in messages.
func selectorKey(selector map[string]string) string {
	text, err := json.Marshal(selector) // sorted by key
	if err != nil {
		return strings.Join(slices.Sorted(maps.Keys(selector)), ",")
	}
	return string(text)
}
