package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

func pod(namespace, name, uid string) Pod {
	return Pod{PodKey: PodKey{Namespace: namespace, Name: name, UID: uid}, Template: &Template{Requests: amount.List{"pods": 1}}}
}

func sorted() *Snapshot {
	return &Snapshot{
		Pods:                 []Pod{pod("a", "x", "1"), pod("a", "x", "2"), pod("a", "y", "0"), pod("b", "a", "0")},
		Nodes:                []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		DaemonSets:           []DaemonSet{{Namespace: "a", Name: "z"}, {Namespace: "b", Name: "a"}},
		Namespaces:           []Namespace{{Name: "a"}, {Name: "b"}},
		Claims:               []Claim{{Namespace: "a", Name: "z"}, {Namespace: "b", Name: "a"}},
		Volumes:              []Volume{{Name: "a"}, {Name: "b"}},
		StorageClasses:       []StorageClass{{Name: "a"}, {Name: "b"}},
		PodDisruptionBudgets: []PodDisruptionBudget{{Namespace: "a", Name: "z"}, {Namespace: "b", Name: "a"}},
	}
}

func TestSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sorted()
		s.Pods = rapid.Permutation(s.Pods).Draw(t, "pods")
		s.Nodes = rapid.Permutation(s.Nodes).Draw(t, "nodes")
		s.DaemonSets = rapid.Permutation(s.DaemonSets).Draw(t, "daemon sets")
		s.Namespaces = rapid.Permutation(s.Namespaces).Draw(t, "namespaces")
		s.Claims = rapid.Permutation(s.Claims).Draw(t, "claims")
		s.Volumes = rapid.Permutation(s.Volumes).Draw(t, "volumes")
		s.StorageClasses = rapid.Permutation(s.StorageClasses).Draw(t, "classes")
		s.PodDisruptionBudgets = rapid.Permutation(s.PodDisruptionBudgets).Draw(t, "budgets")
		s.Sort()
		if diff := cmp.Diff(sorted(), s); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

func TestBlockedErrorNamesTheBudget(t *testing.T) {
	for want, budgets := range map[string][]string{
		"eviction is not allowed now by PodDisruptionBudget shop/web":                                                                 {"shop/web"},
		"eviction is never allowed, because several PodDisruptionBudgets select the pod (shop/all, shop/web): let only one select it": {"shop/all", "shop/web"},
		"eviction is not allowed now": nil,
	} {
		if got := (&BlockedError{Budgets: budgets}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
