package topology

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// TestMembership compares the index with a look at each group: for selectors of all kinds, pods
// belong to the same groups. It counts no more comparisons than labels make necessary, and what
// is forgotten is as if it had never been added.
func TestMembership(t *testing.T) {
	templates := []*cluster.Template{
		{Namespace: "default"},
		{Namespace: "default", Labels: map[string]string{"app": "web"}},
		{Namespace: "default", Labels: map[string]string{"app": "db", "tier": ""}},
		{Namespace: "other", Labels: map[string]string{"app": "web", "tier": "x"}},
	}
	gs := NewGroups(nil)
	for _, of := range templates {
		gs.Expect(of)
	}
	term := func(requirements ...metav1.LabelSelectorRequirement) {
		pods, err := gs.foundBy(templates[0], match.PodTerm{PodAffinityTerm: &corev1.PodAffinityTerm{
			TopologyKey: corev1.LabelHostname, NamespaceSelector: &metav1.LabelSelector{},
			LabelSelector: &metav1.LabelSelector{MatchExpressions: requirements},
		}})
		if err != nil {
			t.Fatal(err)
		}
		gs.addTerm(corev1.LabelHostname, pods)
	}
	asks := func(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	term(asks("app", metav1.LabelSelectorOpIn, "web"))
	term(asks("app", metav1.LabelSelectorOpIn, "web", "db"))
	term(asks("tier", metav1.LabelSelectorOpExists))
	term(asks("tier", metav1.LabelSelectorOpIn, ""))
	term(asks("tier", metav1.LabelSelectorOpDoesNotExist))
	term(asks("app", metav1.LabelSelectorOpNotIn, "web"), asks("tier", metav1.LabelSelectorOpExists))
	term()
	if got, want := gs.comparisons(0), 2+3+2+1+4+2+4; got != want {
		t.Errorf("compares %d templates, want %d", got, want)
	}
	n := len(gs.List)
	term(asks("none", metav1.LabelSelectorOpExists))
	if got := gs.comparisons(n); got != 0 {
		t.Errorf("compares %d templates with a group that no pod can belong to", got)
	}
	gs.Forget(n)
	if len(gs.List) != n || len(gs.byKey) != n {
		t.Errorf("has %d groups and %d identities, want %d", len(gs.List), len(gs.byKey), n)
	}
	for i, of := range templates {
		for id, got := range gs.membership(of) {
			if want := gs.List[id].Matches(of); got != want {
				t.Errorf("template %d, group %d: belongs %t, want %t", i, id, got, want)
			}
		}
	}
}
