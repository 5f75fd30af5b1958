package batch

import (
	"fmt"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Each pod of an indexed Job or a StatefulSet has a label and claims of its own. If the scheduler has found no node for
// one of them, it will find none for the others that ask for the same.
func TestPodsWithAnIndexArePresumedUnschedulable(t *testing.T) {
	indexed := func(name, owner string, cpu int64, state cluster.PodState) cluster.Pod {
		return cluster.Pod{
			PodKey: cluster.PodKey{Namespace: "default", Name: name, UID: name}, Owner: cluster.Owner{Kind: "Job", UID: owner}, State: state,
			Template: &cluster.Template{
				Namespace: "default", Labels: map[string]string{"batch.kubernetes.io/job-completion-index": name},
				Requests: amount.List{"cpu": cpu}, Claims: []cluster.ClaimRef{{Name: "data-" + name}},
			},
		}
	}
	s := &cluster.Snapshot{Pods: []cluster.Pod{
		indexed("refused", "job", 1000, cluster.PodPending),
		indexed("sibling", "job", 1000, cluster.PodNew),
		indexed("larger", "job", 2000, cluster.PodNew),
		indexed("stranger", "other", 1000, cluster.PodNew),
		indexed("ownerless-refused", "", 1000, cluster.PodPending),
		indexed("ownerless", "", 1000, cluster.PodNew),
	}}
	var presumed []string
	for _, p := range Presume(s, func(string) bool { return false }).Pods {
		if p.PresumedUnschedulable {
			presumed = append(presumed, p.Name)
		}
	}
	if got := fmt.Sprint(presumed); got != "[sibling]" {
		t.Errorf("presumed unschedulable: %s, want [sibling]", got)
	}
}
