package retire

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// A budget selects pods of its namespace. Without a selector it selects none, with an empty one all.
func TestPDBs(t *testing.T) {
	web := map[string]string{"app": "web"}
	g := NewPDBs([]cluster.PodDisruptionBudget{
		{Namespace: "d", Name: "all", Selector: &metav1.LabelSelector{}},
		{Namespace: "d", Name: "bad", Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}},
		{Namespace: "d", Name: "db", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
		{Namespace: "d", Name: "none"},
		{Namespace: "d", Name: "web", Selector: &metav1.LabelSelector{MatchLabels: web}},
		{Namespace: "e", Name: "web", Selector: &metav1.LabelSelector{MatchLabels: web}},
	})
	for name, c := range map[string]struct {
		template *cluster.Template
		want     string
	}{
		"two of its namespace":          {&cluster.Template{Namespace: "d", Labels: web}, "d/all d/web "},
		"one of its namespace":          {&cluster.Template{Namespace: "e", Labels: web}, "e/web "},
		"no labels":                     {&cluster.Template{Namespace: "d"}, "d/all "},
		"no budgets are in a namespace": {&cluster.Template{Namespace: "f", Labels: web}, ""},
	} {
		for _, when := range []string{"at first", "again"} {
			got := ""
			for _, b := range g.over(c.template) {
				got += b.Namespace + "/" + b.Name + " "
			}
			if got != c.want {
				t.Errorf("%s, asked %s: got %q, want %q", name, when, got, c.want)
			}
		}
	}
}

// A pod is stuck where waiting does not help: not where a budget allows no eviction because other pods are not ready.
func TestStuckPods(t *testing.T) {
	all := &metav1.LabelSelector{}
	loose, strict := cluster.PodDisruptionBudget{Selector: all}, cluster.PodDisruptionBudget{Selector: all, Strict: true}
	for name, c := range map[string]struct {
		budgets []cluster.PodDisruptionBudget
		change  func(*cluster.Pod)
		want    bool
	}{
		"no budget":                          {},
		"a budget that allows nothing now":   {budgets: []cluster.PodDisruptionBudget{loose}},
		"one that demands all pods":          {budgets: []cluster.PodDisruptionBudget{strict}, want: true},
		"which does not keep unready ones":   {budgets: []cluster.PodDisruptionBudget{{Selector: all, Strict: true, UnreadyAnyway: true}}, change: func(p *cluster.Pod) { p.Ready = false }},
		"two budgets":                        {budgets: []cluster.PodDisruptionBudget{loose, loose}, want: true},
		"a pod that has not started":         {budgets: []cluster.PodDisruptionBudget{strict}, change: func(p *cluster.Pod) { p.Running = false }},
		"a pod that surge moves":             {budgets: []cluster.PodDisruptionBudget{strict}, change: func(p *cluster.Pod) { p.Covered = true }},
		"a pod that is being deleted anyway": {budgets: []cluster.PodDisruptionBudget{strict}, change: func(p *cluster.Pod) { p.State = cluster.PodTerminating }},
	} {
		p := &cluster.Pod{Template: &cluster.Template{}, State: cluster.PodBound, Running: true, Ready: true}
		if c.change != nil {
			c.change(p)
		}
		if got := NewPDBs(c.budgets).Stuck(p); got != c.want {
			t.Errorf("%s: stuck: %t, want %t", name, got, c.want)
		}
	}
}

// BenchmarkPDBs asks for 20,000 pods of 500 workloads in one namespace, each of which has a budget.
func BenchmarkPDBs(b *testing.B) {
	var budgets []cluster.PodDisruptionBudget
	var templates []*cluster.Template
	for i := range 500 {
		app := map[string]string{"app": fmt.Sprintf("app-%d", i)}
		budgets = append(budgets, cluster.PodDisruptionBudget{Namespace: "d", Name: app["app"], Selector: &metav1.LabelSelector{MatchLabels: app}})
		templates = append(templates, &cluster.Template{Namespace: "d", Labels: app})
	}
	for b.Loop() {
		g := NewPDBs(budgets)
		for i := range 20_000 {
			if over := g.over(templates[i%len(templates)]); len(over) != 1 {
				b.Fatalf("%d budgets select the pod, want 1", len(over))
			}
		}
	}
}
