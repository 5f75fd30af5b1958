package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

const referenceManifest = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: default
  namespace: karpenter
spec:
  ttlSecondsAfterEmpty: 30
  taints:
    - {key: example.com/special, effect: NoSchedule}
  labels: {billing-team: my-team, unset: null}
  requirements:
    - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand], value: 2}
  limits: {resources: {cpu: 1000}}
  disruption: {budgets: [{nodes: 3}]}
  provider: {subnetSelector: {a: b}}
`

func TestDecodeProvisioner(t *testing.T) {
	got, warnings, err := DecodeProvisioner([]byte(referenceManifest))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"spec.labels[unset]: has no value, ignored; give it a value, or remove it",
		"spec.requirements[0].value: unknown field, ignored; did you mean values?",
		"metadata.namespace: Provisioners belong to no namespace, ignored; remove it",
	}, warnings.Lines()); diff != "" {
		t.Errorf("warnings -want +got:\n%s", diff)
	}
	if got.Name != "default" || got.Namespace != "" || got.Kind != ProvisionerKind {
		t.Errorf("metadata = %+v, kind %s", got.ObjectMeta, got.Kind)
	}
	spec := got.Spec
	if cpu := spec.Limits.Resources[corev1.ResourceCPU]; cpu.Value() != 1000 {
		t.Errorf("cpu limit = %s, want 1k", cpu.String())
	}
	spec.Limits, spec.Provider = nil, nil
	if diff := cmp.Diff(ProvisionerSpec{
		TTLSecondsAfterEmpty: ptr.To[int64](30),
		Taints:               []corev1.Taint{{Key: "example.com/special", Effect: corev1.TaintEffectNoSchedule}},
		Labels:               map[string]string{"billing-team": "my-team"},
		Requirements:         []Requirement{{Key: LabelCapacityType, Operator: OpIn, Values: []string{"spot", "on-demand"}}},
		Disruption:           &Disruption{Budgets: []Budget{{Nodes: "3"}}},
	}, spec); diff != "" {
		t.Errorf("spec -want +got:\n%s", diff)
	}
}

func TestDecodeRefusesWhatIsNoManifest(t *testing.T) {
	for name, c := range map[string]struct{ doc, want string }{
		"nothing":      {"", "the document is empty"},
		"a list":       {"[1]", "not an object"},
		"a word":       {"hello", "not an object"},
		"no YAML":      {"a: [", "parse Provisioner"},
		"a key twice":  {"kind: Provisioner\nkind: Provisioner", `already set`},
		"a null item":  {"apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {requirements: [null]}", "spec.requirements[0]: null is no item of a list; remove it"},
		"no kind":      {"apiVersion: karpenter.sh/v1alpha5", "kind: null is not Provisioner"},
		"no version":   {"kind: Provisioner", "apiVersion: null has no kind Provisioner; use karpenter.sh/v1alpha5"},
		"a spec of no": {"kind: Provisioner\napiVersion: karpenter.sh/v1alpha5\nspec: []", "spec: [] is a list, and must be an object"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := DecodeProvisioner([]byte(c.doc)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// Objects of the API server and of Terraform have numbers where a document has digits.
func TestProvisionerOfNumbers(t *testing.T) {
	object := func(value any) map[string]any {
		return map[string]any{"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "spec": map[string]any{
			"weight": value, "labels": map[string]any{"a": value},
		}}
	}
	for _, value := range []any{int64(3), float64(3), json.Number("3")} {
		_, _, err := ProvisionerOf(object(value))
		if want := "spec.labels[a]: 3 is a number, and must be a string; quote it"; err == nil || err.Error() != want {
			t.Errorf("%T: error = %v, want %q", value, err, want)
		}
	}
}

func TestDecodeNodeTemplateReadsJSON(t *testing.T) {
	got, warnings, err := DecodeNodeTemplate([]byte(`{"apiVersion":"karpenter.k8s.aws/v1alpha1","kind":"AWSNodeTemplate","metadata":{"name":"a"},"spec":{"amiFamily":"AL2"}}`))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("error %v, warnings %v", err, warnings)
	}
	if diff := cmp.Diff(NodeProfile{AMIFamily: ptr.To(FamilyAL2)}, got.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestBudgetNodes holds that nodes may be written as a number too.
func TestBudgetNodes(t *testing.T) {
	for text, want := range map[string]NumberOrPercent{`3`: "3", `"3"`: "3", `"10%"`: "10%", `"ten"`: "ten"} {
		var b Budget
		if err := json.Unmarshal([]byte(`{"nodes":`+text+`,"reasons":["drift"]}`), &b); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if b.Nodes != want || len(b.Reasons) != 1 {
			t.Errorf("%s = %+v, want nodes %q", text, b, want)
		}
	}
	var b Budget
	if err := json.Unmarshal([]byte(`{"nodes":true}`), &b); err == nil {
		t.Errorf("true = %+v, want an error", b)
	}
}

func TestInlineProfile(t *testing.T) { // LAUNCH-008
	inline := func(raw string) *Provisioner {
		return &Provisioner{Spec: ProvisionerSpec{Provider: &runtime.RawExtension{Raw: []byte(raw)}}}
	}
	for name, c := range map[string]struct {
		p    *Provisioner
		want *NodeProfile
	}{
		"none":     {&Provisioner{}, &NodeProfile{}},
		"empty":    {inline(`{}`), &NodeProfile{}},
		"legacy":   {inline(`{"apiVersion":"extensions.karpenter.sh/v1alpha1","kind":"AWS","instanceProfile":"a"}`), &NodeProfile{InstanceProfile: ptr.To("a")}},
		"unknown":  {inline(`{"context":"x","launchTemplate":"b"}`), &NodeProfile{LaunchTemplate: ptr.To("b")}},
		"null":     {inline(`{"subnetSelector":null}`), &NodeProfile{}},
		"a number": {inline(`{"instanceProfile":1}`), nil},
		"no JSON":  {inline(`{`), nil},
		"a list":   {inline(`[]`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.p.InlineProfile()
			if (err == nil) != (c.want != nil) {
				t.Fatalf("error = %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDefaultSelectors(t *testing.T) {
	tagged := map[string]string{"kubernetes.io/cluster/prod": "*"}
	own := map[string]string{"a": "b"}
	path := field.NewPath("spec")
	for name, c := range map[string]struct {
		profile NodeProfile
		cluster string
		want    NodeProfile
		missing []string
	}{
		"both missing":       {NodeProfile{}, "prod", NodeProfile{SubnetSelector: tagged, SecurityGroupSelector: tagged}, nil},
		"own ones":           {NodeProfile{SubnetSelector: own, SecurityGroupSelector: own}, "prod", NodeProfile{SubnetSelector: own, SecurityGroupSelector: own}, nil},
		"a launch template":  {NodeProfile{LaunchTemplate: ptr.To("a")}, "prod", NodeProfile{LaunchTemplate: ptr.To("a"), SubnetSelector: tagged}, nil},
		"no cluster's name":  {NodeProfile{}, "", NodeProfile{}, []string{"spec.subnetSelector", "spec.securityGroupSelector"}},
		"no name, no groups": {NodeProfile{SubnetSelector: own}, "", NodeProfile{SubnetSelector: own}, []string{"spec.securityGroupSelector"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := c.profile.DefaultSelectors(c.cluster, path)
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var missing []string
			for _, err := range errs {
				missing = append(missing, err.Path)
			}
			if diff := cmp.Diff(c.missing, missing); diff != "" {
				t.Errorf("missing -want +got:\n%s", diff)
			}
		})
	}
}

func TestVolumeGiB(t *testing.T) {
	for text, want := range map[string]int64{"4G": 4, "2G": 2, "20Gi": 20, "1": 1, "0": 0, "1025Mi": 2} {
		var v BlockDevice
		if err := json.Unmarshal([]byte(`{"volumeSize":"`+text+`"}`), &v); err != nil {
			t.Fatal(err)
		}
		if got := VolumeGiB(*v.VolumeSize); got != want {
			t.Errorf("VolumeGiB(%s) = %d, want %d", text, got, want)
		}
	}
}
