package topology

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// TestClassKey has pods that constraints tell apart, or do not.
func TestClassKey(t *testing.T) {
	template := func(change func(*cluster.Template)) *cluster.Template {
		out := &cluster.Template{Namespace: "default", Requests: amount.List{amount.CPU: 500, amount.Pods: 1}, Labels: map[string]string{"app": "web"}}
		change(out)
		return out
	}
	selects := func(key string) func(*cluster.Template) {
		return func(t *cluster.Template) {
			t.Spread = []corev1.TopologySpreadConstraint{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: "x"}}}}
		}
	}
	none := func(*cluster.Template) {}
	for name, of := range map[string]struct {
		first, second func(*cluster.Template)
		third         func(*cluster.Template) // of another pod, which decides which labels are looked at
		want          int
	}{
		"pods that ask for the same are one":       {none, none, none, 2},
		"requests tell pods apart":                 {none, func(t *cluster.Template) { t.Requests = amount.List{amount.CPU: 600, amount.Pods: 1} }, none, 3},
		"node selectors tell pods apart":           {none, func(t *cluster.Template) { t.NodeSelector = map[string]string{"a": "b"} }, none, 3},
		"tolerations tell pods apart":              {none, func(t *cluster.Template) { t.Tolerations = []corev1.Toleration{{Key: "gpu"}} }, none, 3},
		"host ports tell pods apart":               {none, func(t *cluster.Template) { t.HostPorts = []cluster.HostPort{{Port: 80, Protocol: "TCP"}} }, none, 3},
		"priorities tell pods apart":               {none, func(t *cluster.Template) { t.Priority = 7 }, none, 3},
		"resource claims tell pods apart":          {none, func(t *cluster.Template) { t.ResourceClaims = true }, none, 3},
		"namespaces tell pods apart":               {none, func(t *cluster.Template) { t.Namespace = "other" }, none, 3},
		"spreads tell pods apart":                  {none, selects("app"), none, 3},
		"labels that nobody selects do not":        {none, func(t *cluster.Template) { t.Labels = map[string]string{"app": "api"} }, none, 2},
		"labels that a selector looks at do":       {none, func(t *cluster.Template) { t.Labels = map[string]string{"app": "api"} }, selects("app"), 3},
		"other labels do not because of selectors": {none, func(t *cluster.Template) { t.Labels = map[string]string{"app": "web", "rev": "2"} }, selects("app"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			in := &model.Input{Snapshot: &cluster.Snapshot{}}
			in.Snapshot.Namespaces = []cluster.Namespace{{Name: "default"}}
			third := template(of.third)
			third.Requests = amount.List{amount.CPU: 1, amount.Pods: 1}
			for i, tp := range []*cluster.Template{template(of.first), template(of.second), third} {
				p := cluster.Pod{PodKey: cluster.PodKey{Namespace: tp.Namespace, Name: fmt.Sprint("pod-", i)}, Template: tp}
				in.Pods = append(in.Pods, model.Pod{Pod: &p})
				in.Snapshot.Pods = append(in.Snapshot.Pods, p)
			}
			in.Key = NewKey(in.Snapshot).Append
			if got := len(model.New(in, model.NewEffort(in.Pods, 0)).Classes); got != of.want {
				t.Errorf("%d classes, want %d", got, of.want)
			}
		})
	}
}

// TestSelectorOfNoPods: a term without a label selector finds no pods. It shares no group
// with a term whose empty selector finds all of them.
func TestSelectorOfNoPods(t *testing.T) {
	groups := NewGroups(nil)
	group := func(selector *metav1.LabelSelector) *Group {
		pods, err := groups.foundBy(web(), match.PodTerm{PodAffinityTerm: &corev1.PodAffinityTerm{LabelSelector: selector}})
		if err != nil {
			t.Fatal(err)
		}
		return groups.List[groups.addTerm(api.LabelZone, pods)]
	}
	none, all := group(nil), group(&metav1.LabelSelector{})
	if none.Matches(web()) {
		t.Error("a term without a selector finds a pod")
	}
	if !all.Matches(web()) {
		t.Error("a term with an empty selector does not find a pod of its namespace")
	}
}

// TestKeyHasAllThatCounts: pods are in one class only if nothing that decides where they may
// be tells them apart. A new field of a Template has to be named here.
func TestKeyHasAllThatCounts(t *testing.T) {
	elsewhere := map[string]string{
		"SchedulerName": "decides whether a pod is ours to place at all",
		"DoNotDisrupt":  "protects a node", "DoNotEvict": "protects a node", "DoNotDisruptFor": "protects a node", "Misprotected": "protects nothing",
		"Ends":      "decides what consolidation waits for",
		"DaemonSet": "needs no place", "Static": "needs no place",
		"Critical": "is evicted last",
		"Claims":   "counts by what the claims lead to, which is among the needs",
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	here := map[string]any{
		"Namespace": "shop", "Labels": map[string]string{"app": "web"}, "Requests": amount.List{amount.CPU: 1},
		"NodeSelector": map[string]string{"a": "b"}, "Tolerations": []corev1.Toleration{{Key: "a"}},
		"Affinity":  &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
		"Spread":    []corev1.TopologySpreadConstraint{{TopologyKey: "zone", LabelSelector: selector}},
		"HostPorts": []cluster.HostPort{{Port: 1}}, "Priority": int32(1), "ResourceClaims": true,
	}
	key := &Key{labels: map[string]bool{"app": true}}
	plain := string(key.Append(nil, &cluster.Template{}, match.Needs{}))
	for f := range reflect.TypeFor[cluster.Template]().Fields() {
		if elsewhere[f.Name] != "" {
			continue
		}
		other := &cluster.Template{}
		if of := here[f.Name]; of != nil {
			reflect.ValueOf(other).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(of))
		}
		if string(key.Append(nil, other, match.Needs{})) == plain {
			t.Errorf("pods that differ in %s are in one class", f.Name)
		}
	}
}
