package check_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check/corpus"
)

// TestCorpus checks that Object refuses what the API server refuses, at the same field,
// and nothing else. TestAPIServer of the module peercrds asks the API server.
func TestCorpus(t *testing.T) {
	cases, err := corpus.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			found := check.Object(c.Document).Errors()
			switch {
			case c.Refused == "" && len(found) > 0:
				t.Errorf("refused, although the API server takes it: %v", found)
			case c.Refused != "" && len(found) == 0:
				t.Errorf("taken, although the API server refuses it for %s", c.Refused)
			case c.Refused != "" && !strings.HasPrefix(found[0].Path, c.Refused):
				t.Errorf("refused for %s, want %s: %v", found[0].Path, c.Refused, found)
			}
		})
	}
}

// TestUnsupportedSettings: a setting of the kubelet that is not supported is not ignored, because nothing is bought
// without it.
func TestUnsupportedSettings(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, metadata: {name: a}, spec: {kubelet: {maxPod: 5, systemReserved: {cpu:1}}}}": "spec.kubelet.maxPod: the setting is not supported, and NodePools that have it buy nothing; did you mean maxPods?\n" +
			"spec.kubelet.systemReserved[cpu:1]: has no value, ignored; write a space after the colon: cpu: 1",
		"{apiVersion: karpenter.sh/v1beta1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {kubelet: {cpuManagerPolicy: static}}}}}": "spec.template.spec.kubelet.cpuManagerPolicy: the setting is not supported, and NodePools that have it buy nothing; remove it",
	} {
		var document map[string]any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		if got := check.Object(document).Error(); got != want {
			t.Errorf("found %s\nwant %s", got, want)
		}
	}
}

// TestFieldsOfOtherVersions: a field that only another version has is not said to belong where it is.
func TestFieldsOfOtherVersions(t *testing.T) {
	const text = "{apiVersion: karpenter.sh/v1beta1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, name: a}}}}}"
	var document map[string]any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	if got, want := check.Object(document).Error(), "spec.template.spec.nodeClassRef.group: unknown field, ignored; remove it"; got != want {
		t.Errorf("found %s\nwant %s", got, want)
	}
}
