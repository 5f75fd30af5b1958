// Package tagging converts tags between maps and the SDK's lists for IAM.
package tagging

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// List returns the tags as IAM takes them, in the order of their keys.
func List(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for key, value := range tags {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	slices.SortFunc(out, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return out
}

// Map returns the tags that IAM gives.
func Map(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

// Dropped returns the keys that were there before and are no more, in order.
func Dropped(before, now map[string]string) []string {
	var out []string
	for key := range before {
		if _, kept := now[key]; !kept {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
