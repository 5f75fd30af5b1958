package decide

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest/manifesttest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// FuzzSnapshot makes up whole clusters. Every plan for them has to hold.
func FuzzSnapshot(f *testing.F) {
	for seed := range byte(4) {
		noise := make([]byte, 8<<10) // enough to draw a cluster from
		if _, err := rand.NewChaCha8([32]byte{seed}).Read(noise); err != nil {
			f.Fatal(err)
		}
		f.Add(noise)
	}
	f.Fuzz(func(t *testing.T, noise []byte) {
		rapid.MakeFuzz(func(r *rapid.T) {
			w := drawWorld(t, r)
			plan := w.decide()
			verify(r, &w.in, &plan)
		})(t, noise)
	})
}

// FuzzFile plans what files say, however odd. Every plan has to hold.
func FuzzFile(f *testing.F) {
	const provisioner = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: default}\nspec: {requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, c5.xlarge]}]}\n---\n"
	for _, pod := range []string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: x}}\nspec: {containers: [{name: c, resources: {requests: {cpu: 1}}}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}]}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}]}}, containers: [{name: c}]}}}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Gt, values: [x]}]}, {}]}}}, containers: [{name: c, resources: {requests: {cpu: -1, memory: 1e30}}}]}\n",
	} {
		f.Add([]byte(provisioner + pod))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := manifesttest.Parse("in.yaml", data)
		if err != nil || len(set.Snapshot.Pods) > 100 {
			return
		}
		in := Input{Now: noon, Snapshot: set.Snapshot, Prove: true, Settings: DefaultSettings()}
		for _, p := range set.Provisioners {
			spec := p.Defaulted()
			in.Provisioners = append(in.Provisioners, Provisioner{Spec: spec, Types: offer.Embedded().Types(offer.Settings{Region: "us-east-1", Kubelet: spec.Spec.KubeletConfiguration})})
		}
		plan := Decide(in)
		verify(t, &in, &plan)
	})
}
