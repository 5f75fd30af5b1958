package match

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func TestPodSelection(t *testing.T) {
	of := &cluster.Template{Namespace: "default", Labels: map[string]string{"app": "web", "version": "2"}}
	all := []cluster.Namespace{{Name: "default"}, {Name: "team", Labels: map[string]string{"team": "a"}}}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	everything := &metav1.LabelSelector{}
	for name, c := range map[string]struct {
		term  corev1.PodAffinityTerm
		finds []string // of the pods below
	}{
		"its own namespace":               {corev1.PodAffinityTerm{LabelSelector: web}, []string{"v1", "v2"}},
		"a namespace by name":             {corev1.PodAffinityTerm{LabelSelector: web, Namespaces: []string{"team"}}, []string{"team"}},
		"namespaces by label":             {corev1.PodAffinityTerm{LabelSelector: web, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}, []string{"team"}},
		"all namespaces":                  {corev1.PodAffinityTerm{LabelSelector: everything, NamespaceSelector: everything}, []string{"db", "gone", "team", "v1", "v2"}},
		"namespaces by label and by name": {corev1.PodAffinityTerm{LabelSelector: everything, Namespaces: []string{"default"}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}, []string{"db", "team", "v1", "v2"}},
		"a namespace that is not there":   {corev1.PodAffinityTerm{LabelSelector: web, NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}}}}, []string{"v1", "v2"}},
		"no selector finds nothing":       {corev1.PodAffinityTerm{}, nil},
		"with the same value":             {corev1.PodAffinityTerm{LabelSelector: web, MatchLabelKeys: []string{"version"}}, []string{"v2"}},
		"with another value":              {corev1.PodAffinityTerm{LabelSelector: web, MismatchLabelKeys: []string{"version"}}, []string{"v1"}},
		"a key that it has not":           {corev1.PodAffinityTerm{LabelSelector: web, MatchLabelKeys: []string{"none"}}, []string{"v1", "v2"}},
	} {
		pods, err := NewNamespaces(all).Term(of, &c.term)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(t, name, pods, c.finds)
	}
	for name, c := range map[string]struct {
		spread corev1.TopologySpreadConstraint
		finds  []string
	}{
		"a spread counts its own namespace":    {corev1.TopologySpreadConstraint{LabelSelector: web}, []string{"v1", "v2"}},
		"a spread over everything counts none": {corev1.TopologySpreadConstraint{LabelSelector: everything}, nil},
	} {
		pods, err := SpreadSelection(of, &c.spread)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(t, name, pods, c.finds)
	}
}

// check compares what a selection finds with what it should find. Where it names a label,
// all that it finds has that.
func check(t *testing.T, name string, pods PodSelection, want []string) {
	t.Helper()
	wanted := map[string]bool{}
	for _, w := range want {
		wanted[w] = true
	}
	for pod, template := range map[string]*cluster.Template{
		"v1":   {Namespace: "default", Labels: map[string]string{"app": "web", "version": "1"}},
		"v2":   {Namespace: "default", Labels: map[string]string{"app": "web", "version": "2"}},
		"db":   {Namespace: "default", Labels: map[string]string{"app": "db"}},
		"gone": {Namespace: "gone", Labels: map[string]string{"app": "db"}},
		"team": {Namespace: "team", Labels: map[string]string{"app": "web", "version": "3"}},
	} {
		found := pods.Finds(template)
		if found != wanted[pod] {
			t.Errorf("%s: finds %s: %v", name, pod, found)
		}
		if key, value, ok := pods.Label(); ok && found && template.Labels[key] != value {
			t.Errorf("%s: finds %s without the label %s=%s", name, pod, key, value)
		}
	}
}

// TestSelectedNamespacesAreShared: a term that selects namespaces takes no more memory the more of them there are, nor does
// what identifies it.
func TestSelectedNamespacesAreShared(t *testing.T) {
	all := make([]cluster.Namespace, 10_000)
	for i := range all {
		all[i] = cluster.Namespace{Name: fmt.Sprint("tenant-", i), Labels: map[string]string{"tenant": fmt.Sprint(i)}}
	}
	of, own := NewNamespaces(all), &cluster.Template{Namespace: "tenant-1"}
	but := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tenant", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"1"}}}}
	term := &corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: but}
	var pods PodSelection
	if got := testing.AllocsPerRun(10, func() { pods, _ = of.Term(own, term) }); got > 20 {
		t.Errorf("%v allocations", got)
	}
	if got := pods.String(); len(got) > 100 {
		t.Errorf("it is identified by %d bytes", len(got))
	}
}
