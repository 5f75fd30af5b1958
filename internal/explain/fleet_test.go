package explain

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain/explaintest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestContents(t *testing.T) {
	got := Contents(explaintest.Live())
	if len(got) != 2 || got[0].Node != "n1" || got[0].Pods() != 2 || got[0].Held[amount.CPU] != 100 || got[0].Share(amount.CPU) != 0.55 {
		t.Errorf("%+v", got)
	}
	total := 0.0
	for _, l := range got[0].Loads {
		total += l.Pods
	}
	if total != 2 {
		t.Errorf("%v pods in loads", total)
	}
}

func TestPurpose(t *testing.T) {
	s := explaintest.Live()
	key := func(name string) cluster.PodKey { return cluster.PodKey{Namespace: "shop", Name: name} }
	m := &decide.Machine{
		Pods: []cluster.PodKey{key("web-1"), key("web-2")}, Moving: []decide.Move{{Pod: key("web-3"), From: "n2"}},
		Candidates:  []offer.Candidate{{InstanceType: "m5.large"}, {InstanceType: "c5.large"}},
		Allocatable: amount.List{amount.CPU: 2000}, Used: amount.List{amount.CPU: 1500},
	}
	for bought, want := range map[string]string{
		"m5.large": "for 2 pods (shop/web × 2) and for 1 pod from nodes that are being removed (shop/web); cheapest of its 2 candidate types; CPU fills first (75%)",
		"c5.large": "for 2 pods (shop/web × 2) and for 1 pod from nodes that are being removed (shop/web); bought instead of m5.large, which was refused",
	} {
		if got := Purpose(m, s, bought); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWorkload(t *testing.T) {
	hashed := &cluster.Template{Labels: map[string]string{"pod-template-hash": "6f7"}}
	for name, c := range map[string]struct {
		pod  cluster.Pod
		want string
	}{
		"deployment":          {cluster.Pod{Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-6f7"}, Template: hashed}, "n/web"},
		"replica set":         {cluster.Pod{Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-6f7"}, Template: &cluster.Template{}}, "n/web-6f7"},
		"cron job":            {cluster.Pod{Owner: cluster.Owner{Kind: "Job", Name: "night-29312345"}, Template: hashed}, "n/night"},
		"job with a number":   {cluster.Pod{Owner: cluster.Owner{Kind: "Job", Name: "step-2"}, Template: hashed}, "n/step-2"},
		"alone":               {cluster.Pod{PodKey: cluster.PodKey{Name: "pods-3-17"}, Template: hashed}, "n/pods-3"},
		"alone with a number": {cluster.Pod{PodKey: cluster.PodKey{Name: "web2"}, Template: hashed}, "n/web2"},
		"only a number":       {cluster.Pod{PodKey: cluster.PodKey{Name: "17"}, Template: hashed}, "n/17"},
	} {
		t.Run(name, func(t *testing.T) {
			c.pod.Namespace = "n"
			if got := workload(&c.pod); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
