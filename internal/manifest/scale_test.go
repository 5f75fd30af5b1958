package manifest

import (
	"fmt"
	"testing"
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
