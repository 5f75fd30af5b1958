package manifest

import (
	"fmt"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// The number of a Deployment counts where it is edited beside its ReplicaSets, unless pods are being replaced.
func TestEditedDeployments(t *testing.T) {
	for name, c := range map[string]struct {
		wanted    int
		old, next int
		pods      int
	}{
		"nothing was edited": {3, 0, 3, 3},
		"more are wanted":    {10, 0, 2, 10},
		"fewer are wanted":   {1, 0, 3, 1},
		"it was rolled back": {10, 2, 0, 10},
		"it had none":        {4, 0, 0, 4},
		"it is to have none": {0, 0, 3, 0},
		"pods are replaced":  {4, 2, 3, 5},
	} {
		text := fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: %d, template: {spec: {containers: []}}}\n", c.wanted)
		for day, replicas := range []int{c.old, c.next} {
			text += fmt.Sprintf(`---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-%[1]d
  creationTimestamp: 2026-01-0%[1]dT00:00:00Z
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u1, controller: true}]
spec: {replicas: %[2]d, template: {spec: {containers: []}}}
`, day+1, replicas)
		}
		pods := parse(t, text).Snapshot.Pods
		if len(pods) != c.pods {
			t.Errorf("%s: %d pods, want %d", name, len(pods), c.pods)
			continue
		}
		if name == "it had none" && pods[0].Owner.Name != "web-2" {
			t.Errorf("%s: the pods are those of %s", name, pods[0].Owner.Name)
		}
	}
}

// The replicas that a Deployment lacks belong to the ReplicaSet of those that it has, in the files or in a live cluster:
// constraints may concern pods with the same pod-template-hash only.
func TestReplicasJoinOthers(t *testing.T) {
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, resources: {requests: {cpu: %s}}}]}
---`
	pod := func(hash, day string) string {
		return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: web-%[1]s-x
  namespace: shop
  uid: u-%[1]s
  creationTimestamp: %[2]sT00:00:00Z
  labels: {app: web, pod-template-hash: %[1]s}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-%[1]s, uid: rs-%[1]s, controller: true}]
spec: {nodeName: there, containers: [{name: main, resources: {requests: {cpu: 1}}}]}
---`, hash, day)
	}
	pods := pod("new", "2026-01-02") + pod("old", "2026-01-01")
	for name, c := range map[string]struct {
		live, files string
		joins       bool
	}{
		"beside pods in the files": {"", fmt.Sprintf(deployment, "1") + pods, true},
		"beside live pods":         {pods, fmt.Sprintf(deployment, "1"), true},
		"edited":                   {"", fmt.Sprintf(deployment, "2") + pods, false},
		"edited beside live pods":  {pods, fmt.Sprintf(deployment, "2"), false},
		"without pods":             {"", fmt.Sprintf(deployment, "1"), false},
	} {
		b := NewBuilder()
		b.Beside(&cluster.Survey{Snapshot: parse(t, c.live).Snapshot})
		b.Add("files", []byte(c.files))
		set, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range set.Snapshot.Pods {
			if p.UID == "" && (p.Owner.UID == "rs-new" && p.Deployment() == "web" && p.Template.Labels["pod-template-hash"] == "new") != c.joins {
				t.Errorf("%s: %s is of %+v, with labels %v", name, p.Name, p.Owner, p.Template.Labels)
			}
		}
	}
}
