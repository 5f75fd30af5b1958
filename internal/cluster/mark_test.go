package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A node is marked by us where it also says what replaces it, even if nothing does.
func TestMark(t *testing.T) {
	type annotations = map[string]string
	const reason, by, at, with = api.AnnotationDisruption, api.AnnotationReplacedBy, api.AnnotationDisruptedAt, api.AnnotationDisruptedWith
	for name, c := range map[string]struct {
		has  annotations
		want NodeMark
	}{
		"none":            {nil, NodeMark{}},
		"ours":            {annotations{reason: "drift", by: "a, b", at: "2026-01-01T12:00:00Z"}, NodeMark{"drift", time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), true, []string{"a", "b"}, nil}},
		"of a step":       {annotations{reason: "consolidation", by: "a", with: "n1,n2"}, NodeMark{Reason: "consolidation", Own: true, Replacements: []string{"a"}, Step: []string{"n1", "n2"}}},
		"not replaced":    {annotations{reason: "emptiness", by: ""}, NodeMark{Reason: "emptiness", Own: true}},
		"another's":       {annotations{reason: "drifted"}, NodeMark{Reason: "drifted"}},
		"no time":         {annotations{reason: "drift", by: "", at: "noon"}, NodeMark{Reason: "drift", Own: true}},
		"only what comes": {annotations{by: "a"}, NodeMark{Replacements: []string{"a"}}},
	} {
		if diff := cmp.Diff(c.want, (&Node{Annotations: c.has}).Mark()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
