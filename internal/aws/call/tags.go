package call

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// TagList returns the tags in the form of IAM, sorted by key.
func TagList(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for key, value := range tags {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	slices.SortFunc(out, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return out
}

// TagMap returns tags of IAM as a map.
func TagMap(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

// Retag changes tags from the declaration before to the declaration now. If these differ, it
// calls tag with its input, and then untag with the keys that are only in before. Tags that
// are in neither stay as they are. Errors call the tagged thing what.
func Retag[I, O, J, P, F any](ctx context.Context, what string, before, now map[string]string,
	tag func(context.Context, *I, ...F) (*O, error), input *I,
	untag func(context.Context, *J, ...F) (*P, error), without func(keys []string) *J,
) error {
	if !maps.Equal(before, now) && len(now) > 0 {
		if _, err := Invoke(ctx, nil, tag, input); err != nil {
			return Explain("tag "+what, err)
		}
	}
	gone := dropped(before, now)
	if len(gone) == 0 {
		return nil
	}
	_, err := Invoke(ctx, nil, untag, without(gone))
	return Explain("untag "+what, err)
}

// dropped returns the keys that are in before and not in now, sorted.
func dropped(before, now map[string]string) []string {
	var out []string
	for key := range before {
		if _, kept := now[key]; !kept {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
