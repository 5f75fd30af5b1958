package consolidation

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func pod(uid, node string, state cluster.PodState) cluster.Pod {
	return cluster.Pod{PodKey: cluster.PodKey{Name: uid, UID: uid}, NodeName: node, State: state, Template: &cluster.Template{}}
}

func snapshot(pods ...cluster.Pod) *cluster.Snapshot {
	return &cluster.Snapshot{Pods: pods, Nodes: []cluster.Node{{Name: "n1"}, {Name: "n2"}}}
}

func TestDisturbed(t *testing.T) {
	daemon := pod("d", "n1", cluster.PodBound)
	daemon.Template = &cluster.Template{DaemonSet: true}
	before := snapshot(pod("a", "n1", cluster.PodBound))
	for name, c := range map[string]struct {
		after *cluster.Snapshot
		want  string
	}{
		"nothing":                   {before, ""},
		"a pod came":                {snapshot(pod("a", "n1", cluster.PodBound), pod("b", "n2", cluster.PodBound)), "n2"},
		"a pod begins to go":        {snapshot(pod("a", "n1", cluster.PodTerminating)), "n1"},
		"a pod has finished":        {snapshot(), "n1"},
		"a pod of a DaemonSet came": {snapshot(pod("a", "n1", cluster.PodBound), daemon), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := New()
			m.Observe(before, noon)
			m.Observe(c.after, noon.Add(time.Minute))
			got := m.Disturbed()
			if len(got) > 1 || c.want == "" && len(got) > 0 || c.want != "" && !got[c.want].Equal(noon.Add(time.Minute)) {
				t.Errorf("disturbed %v, want %q", got, c.want)
			}
		})
	}
}

func TestRhythm(t *testing.T) { // CONS-057, CONS-058
	same, other := snapshot(), snapshot()
	for name, c := range map[string]struct {
		now    *cluster.Snapshot
		took   time.Duration
		next   time.Time
		guided time.Time
		want   time.Duration
	}{
		"nothing has changed":           {now: same, want: 5 * time.Minute},
		"something has":                 {now: other, want: 10 * time.Second},
		"soft taints were just set":     {now: same, guided: noon.Add(-time.Minute), want: time.Minute},
		"looking takes long":            {now: other, took: 2 * time.Second, want: 40 * time.Second},
		"a step becomes due":            {now: same, next: noon.Add(time.Minute), want: time.Minute},
		"a step becomes due, too early": {now: same, next: noon.Add(time.Second), want: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			m := New()
			if !m.Due(same, noon) {
				t.Error("not due at first")
			}
			m.Guided(c.guided)
			m.Looked(same, &decide.Consolidation{Next: c.next}, noon, c.took)
			if got := m.Next(c.now).Sub(noon); got != c.want {
				t.Errorf("next after %s, want %s", got, c.want)
			}
		})
	}
}

// Looks that fail, or are not made at all, grow old from the last one that succeeded, or from the beginning.
func TestAge(t *testing.T) {
	m := New()
	m.Observe(snapshot(), noon)
	m.Observe(snapshot(), noon.Add(time.Hour))
	if got := m.Age(noon.Add(time.Hour)); got != time.Hour {
		t.Errorf("%s without any look, want an hour", got)
	}
	m.Looked(snapshot(), nil, noon.Add(2*time.Hour), 0) // there was nothing to look at
	m.Failed(noon.Add(4 * time.Hour))
	if got := m.Age(noon.Add(5 * time.Hour)); got != 3*time.Hour {
		t.Errorf("%s after a look that failed, want 3 hours", got)
	}
}

// The next pods of an owner stand in the place of those that were evicted for
// consolidation, for an hour.
func TestMoved(t *testing.T) {
	owned := func(uid, node string, state cluster.PodState, created time.Time) cluster.Pod {
		p := pod(uid, node, state)
		p.Owner, p.Created = cluster.Owner{Kind: "ReplicaSet", UID: "web"}, created
		return p
	}
	old := noon.Add(-time.Hour)
	for name, c := range map[string]struct {
		reason string
		state  cluster.PodState
		want   bool
	}{
		"evicted to consolidate":   {api.ReasonConsolidation, cluster.PodTerminating, true},
		"evicted for drift":        {"drift", cluster.PodTerminating, false},
		"not evicted":              {api.ReasonConsolidation, cluster.PodBound, false},
		"its node stays, and dies": {"", cluster.PodTerminating, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := New()
			m.Observe(snapshot(owned("a", "n1", cluster.PodBound, old), owned("b", "n2", cluster.PodBound, old)), noon)
			going := snapshot(owned("a", "n1", c.state, old), owned("b", "n2", cluster.PodBound, old))
			going.Nodes[0].Deleting = c.reason != ""
			going.Nodes[0].Annotations = map[string]string{api.AnnotationDisruption: c.reason}
			m.Observe(going, noon.Add(time.Minute))
			m.Observe(going, noon.Add(2*time.Minute))
			came := snapshot(owned("b", "n2", cluster.PodBound, old), owned("c", "n2", cluster.PodBound, noon.Add(time.Minute)), owned("d", "n2", cluster.PodBound, noon.Add(3*time.Minute)))
			m.Observe(came, noon.Add(3*time.Minute))
			if got := m.Moved(); c.want != (len(got) == 1 && got["c"].Equal(noon.Add(time.Minute))) || !c.want && len(got) > 0 {
				t.Errorf("moved %v", got)
			}
			m.Observe(came, noon.Add(time.Hour+time.Minute))
			if got := m.Moved(); len(got) > 0 {
				t.Errorf("an hour later: %v", got)
			}
		})
	}
}

func TestGuideRest(t *testing.T) {
	m := New()
	if !m.Guides(noon) {
		t.Error("not at first")
	}
	m.Guided(noon)
	if m.Guides(noon.Add(guideRest-1)) || !m.Guides(noon.Add(guideRest)) {
		t.Error("not every two minutes")
	}
}
