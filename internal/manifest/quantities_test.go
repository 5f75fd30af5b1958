package manifest

import (
	"strings"
	"testing"
)

// TestRefusedQuantities: a quantity that is negative, or that would take seconds and more to
// read, is refused with its place; texts of the same form elsewhere are fine.
func TestRefusedQuantities(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"a request of a Deployment",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - name: a\n        resources:\n          requests:\n            cpu: \"1e-9999999\"\n",
			`in.yaml:11: document 1: Deployment default/web: spec.template.spec.containers[0].resources.requests[cpu]: Invalid value: "1e-9999999": must have at most 100 digits, and an exponent below 1000; write it with a suffix, such as 9Ei`,
		},
		{
			"a negative request of a Pod",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    resources:\n      requests: {memory: -1Gi}\n",
			`in.yaml:8: document 1: Pod default/a: spec.containers[0].resources.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0`,
		},
		{
			"a negative number in the overhead of a workload",
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  template:\n    spec:\n      overhead:\n        cpu: -1\n",
			`in.yaml:8: document 1: StatefulSet default/db: spec.template.spec.overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
		},
		{
			"the capacity of a Node",
			`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"memory": "` + strings.Repeat("9", 500) + `"}}}`,
			`in.yaml:1: document 1: Node n: status.capacity[memory]: Invalid value: "99999999999999999999…": must have`,
		},
		{
			"an item of a List",
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: PersistentVolumeClaim\n  metadata: {name: c}\n  spec:\n    resources: {requests: {storage: 9E9999999}}\n",
			`in.yaml:8: document 1: PersistentVolumeClaim default/c: spec.resources.requests[storage]: Invalid value: "9E9999999": must have`,
		},
		{
			"the limits of a Provisioner",
			"apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: p}\nspec:\n  limits:\n    resources: {cpu: \"9E9999999\"}\n",
			`in.yaml:6: document 1: Provisioner p: spec.limits.resources[cpu]: "9E9999999": must have at most 100 digits`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.text)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error is\n%v\nand not\n%s", err, c.want)
			}
		})
	}
	parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {commit: \"12e45678\", shift: \"-1\", key: \""+strings.Repeat("1", 200)+"\"}}\nspec: {containers: [{name: a, resources: {requests: {cpu: 100m}}}]}\n")
}
