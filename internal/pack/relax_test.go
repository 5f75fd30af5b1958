package pack

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

func preferring(n int) *class {
	return &class{Rules: &topology.Rules{Class: &model.Class{Places: make([]match.Requirements, 1)}, Preferences: make([]topology.Preference, n)}}
}

// TestPreferencesAreGivenUpOneByOne compares with all sets in the order of their
// importance: the first that can be met is the one that is tried next, whatever
// excludes each other.
func TestPreferencesAreGivenUpOneByOne(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(r, "preferences")
		c := preferring(n)
		// A set cannot be met if it keeps all of any of these.
		clashes := rapid.SliceOfN(rapid.Uint64Range(1, uint64(c.Everything())), 1, 5).Draw(r, "clashes")
		serves := func(l level) bool {
			for _, clash := range clashes {
				if l.relaxed&topology.Relaxed(clash) == 0 {
					return false
				}
			}
			return true
		}
		want := topology.Relaxed(1)
		for !serves(level{relaxed: want}) {
			want++
		}
		got, ok := c.next(level{}, serves)
		if !ok || got.relaxed != want {
			r.Fatalf("gives up %b, want %b", got.relaxed, want)
		}
	})
}

// TestGivingUpEnds has answers that were wrong every time: each level gives up more than
// the one before, and the last one everything.
func TestGivingUpEnds(t *testing.T) {
	for _, n := range []int{0, 1, 5, topology.MaxPreferences, 1000} {
		c := preferring(n)
		c.Places = make([]match.Requirements, 2)
		last, steps := level{}, 0
		for l, ok := c.next(last, func(level) bool { return true }); ok; l, ok = c.next(last, func(level) bool { return true }) {
			if l.place == last.place && l.relaxed <= last.relaxed {
				t.Fatalf("%d preferences: %v comes after %v", n, l, last)
			}
			last, steps = l, steps+1
		}
		if last != c.lastLevel() || steps > 2*topology.MaxPreferences+2 || c.probes > maxProbes+2*topology.MaxPreferences {
			t.Errorf("%d preferences: ends with %v after %d steps and %d probes", n, last, steps, c.probes)
		}
	}
}

// TestManyPreferencesAreBounded has a pod with a thousand preferences that exclude each
// other beside one that prefers little: both are placed, and the most important one that
// can be had is met.
func TestManyPreferencesAreBounded(t *testing.T) {
	zone := func(i int) string { return fmt.Sprint("zone-", i) }
	terms := make([]corev1.PreferredSchedulingTerm, 1000)
	for i := range terms {
		terms[i] = corev1.PreferredSchedulingTerm{Weight: int32(1 + i/10), Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: api.LabelZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone(i)}}},
		}}
	}
	small := offer.InstanceType{Name: "small", Capacity: amount.List{amount.CPU: 2000, amount.Memory: 1, amount.Pods: 10}}
	for i := 960; i < 970; i++ {
		small.Offerings = append(small.Offerings, offer.Offering{Zone: zone(i), CapacityType: api.CapacityOnDemand, Price: 1000})
	}
	template := &cluster.Template{
		Namespace: "default", Requests: amount.List{amount.CPU: 100, amount.Pods: 1},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}},
	}
	spec := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p := &Problem{Snapshot: &cluster.Snapshot{}, Provisioners: []Provisioner{{Spec: spec, Types: []offer.InstanceType{small}}}}
	p.Pods = []Demand{{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "picky"}, Template: template}}}

	begin := time.Now()
	l := Solve(p)
	if spent := time.Since(begin); spent > 5*time.Second {
		t.Errorf("took %v", spent)
	}
	if len(l.Machines) != 1 || l.Machines[0].Candidates[0].Zone != zone(969) {
		t.Fatalf("got %+v, want a machine in %s", l.Machines, zone(969))
	}
	if given := len(l.Places[0].GivenUp); given != len(terms)-1 {
		t.Errorf("%d preferences given up, want all of %d but one", given, len(terms))
	}
}
