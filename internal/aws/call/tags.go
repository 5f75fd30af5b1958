package call

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/apimachinery/pkg/util/sets"
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

// Tagging is a change of the tags of something from one declaration to the next.
type Tagging struct {
	What        string // as errors call it
	Before, Now map[string]string
}

// Retag makes the change. It calls untag with the keys that are only in before, and then, if
// the declarations differ, tag, which sets the tags of now. The other way round, a key of which
// only the case changes would be lost: for IAM, the keys Team and team of a role are the same.
// Tags that are in neither declaration stay as they are.
func Retag(t Tagging, tag func() error, untag func(keys []string) error) error {
	if gone := sets.List(sets.KeySet(t.Before).Difference(sets.KeySet(t.Now))); len(gone) > 0 {
		if err := untag(gone); err != nil {
			return Explain("untag "+t.What, err)
		}
	}
	if maps.Equal(t.Before, t.Now) || len(t.Now) == 0 {
		return nil
	}
	return Explain("tag "+t.What, tag())
}
