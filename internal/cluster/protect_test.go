package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestNotDisrupted: a pod is protected for ever or for a while after it came to its node, and not because the
// clock of its node is ahead.
func TestNotDisrupted(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		template Template
		came     time.Duration // after now
		want     bool
	}{
		"unprotected":                   {Template{}, -time.Hour, false},
		"unprotected, a clock is ahead": {Template{}, time.Second, false},
		"for ever":                      {Template{DoNotDisrupt: true}, -time.Hour, true},
		"for longer":                    {Template{DoNotDisruptFor: 2 * time.Hour}, -time.Hour, true},
		"no longer":                     {Template{DoNotDisruptFor: time.Hour}, -time.Hour, false},
	} {
		p := Pod{Template: &c.template, Since: now.Add(c.came)}
		if got := p.NotDisrupted(now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSpares: a drain of a node of a NodePool leaves pods to end that have Karpenter's annotation, and not those that
// have only the one of v1alpha5. That one protects their node from disruption all the same.
func TestSpares(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	node := Node{Labels: map[string]string{api.LabelNodePool: "a"}}
	for name, c := range map[string]struct {
		annotations         map[string]string
		spares, undisrupted bool
	}{
		"do-not-disrupt":                 {map[string]string{api.AnnotationDoNotDisrupt: "true"}, true, true},
		"do-not-evict":                   {map[string]string{api.AnnotationDoNotEvict: "true"}, false, true},
		"both":                           {map[string]string{api.AnnotationDoNotEvict: "true", api.AnnotationDoNotDisrupt: "true"}, true, true},
		"do-not-evict, and for a while":  {map[string]string{api.AnnotationDoNotEvict: "true", api.AnnotationDoNotDisrupt: "2h"}, true, true},
		"do-not-evict, and a while over": {map[string]string{api.AnnotationDoNotEvict: "true", api.AnnotationDoNotDisrupt: "1m"}, false, true},
		"none":                           {nil, false, false},
	} {
		of := &corev1.Pod{}
		of.Annotations = c.annotations
		p := Pod{Template: newTemplate(of), State: PodBound, Running: true, Since: now.Add(-time.Hour)}
		if got := node.Spares(&p, now); got != c.spares {
			t.Errorf("%s: Spares = %t", name, got)
		}
		if got := p.NotDisrupted(now); got != c.undisrupted {
			t.Errorf("%s: NotDisrupted = %t", name, got)
		}
	}
}
