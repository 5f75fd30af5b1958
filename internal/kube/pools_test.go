package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func leaseOf(holder string, renewed time.Time) coordinationv1.Lease {
	return coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, RenewTime: ptr.To(metav1.NewMicroTime(renewed)), LeaseDurationSeconds: ptr.To[int32](15),
	}}
}

// Karpenter is at the wheel for as long as its Lease is renewed, whatever its clock says.
func TestWatchman(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	held := func(renewed int) map[string]coordinationv1.Lease {
		return map[string]coordinationv1.Lease{"kube-system": leaseOf("karpenter-1", at(renewed))}
	}
	var w watchman
	if w.leads(start) == "" {
		t.Error("nobody has looked, and NodePools are served")
	}
	for _, step := range []struct {
		now   int
		lease map[string]coordinationv1.Lease
		leads bool
	}{
		{0, held(-3600), true}, // renewed an hour ago by its clock, and seen for the first time
		{2, held(-3598), true},
		{16, held(-3598), true},
		{17, held(-3598), false}, // 15 seconds without a renewal
		{20, held(-3580), true},  // it is back
		{22, nil, false},         // deleted, or released
	} {
		w.look(step.lease, at(step.now))
		if said := w.leads(at(step.now)); (said != "") != step.leads {
			t.Errorf("after %d s: %q, want Karpenter at the wheel: %t", step.now, said, step.leads)
		}
	}
	if w.leads(at(22+61)) == "" {
		t.Error("nobody has looked for a minute, and NodePools are served")
	}
}

// definePools installs the kinds of Karpenter without its rules.
func definePools(t *testing.T) {
	t.Helper()
	for _, kind := range []struct {
		gvr  schema.GroupVersionResource
		kind string
	}{{nodePoolGVR, "NodePool"}, {nodeClassGVR, "EC2NodeClass"}, {nodeClaimGVR, "NodeClaim"}} {
		crd := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": kind.gvr.Resource + "." + kind.gvr.Group},
			"spec": map[string]any{
				"group": kind.gvr.Group, "scope": "Cluster",
				"names": map[string]any{"kind": kind.kind, "plural": kind.gvr.Resource, "singular": strings.ToLower(kind.kind)},
				"versions": []any{map[string]any{
					"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				}},
			},
		}}
		if _, err := adminCustom.Resource(crds).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		eventually(t, kind.gvr.Resource+" are served", func() error {
			_, err := adminCustom.Resource(kind.gvr).List(t.Context(), metav1.ListOptions{})
			return err
		})
	}
}

func createObject(t *testing.T, gvr schema.GroupVersionResource, text string) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	if _, err := adminCustom.Resource(gvr).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = adminCustom.Resource(gvr).Delete(context.WithoutCancel(t.Context()), u.GetName(), metav1.DeleteOptions{})
	})
}

const (
	servedPool = `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"served"},"spec":{"template":{"spec":{
		"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"served"},
		"requirements":[{"key":"kubernetes.io/arch","operator":"In","values":["arm64"]}]}}}}`
	servedClass = `{"apiVersion":"karpenter.k8s.aws/v1","kind":"EC2NodeClass","metadata":{"name":"served"},"spec":{"instanceProfile":"p",
		"kubelet":{"maxPods":42},"amiSelectorTerms":[{"alias":"al2023@latest"}],"subnetSelectorTerms":[{"tags":{"a":"b"}}],"securityGroupSelectorTerms":[{"tags":{"a":"b"}}]}}`
)

// A NodePool counts as a Provisioner with its class as the node profile, and its status
// is written in Karpenter's terms, so that others who wait for it go on working.
func TestNodePoolsAreServed(t *testing.T) {
	definePools(t)
	createObject(t, nodeClassGVR, servedClass)
	createObject(t, nodePoolGVR, servedPool)
	createObject(t, nodePoolGVR, strings.NewReplacer(`"served"}`, `"static"}`, `"spec":{"template"`, `"spec":{"replicas":2,"template"`).Replace(servedPool))
	createObject(t, nodePoolGVR, strings.NewReplacer(`"served"}`, `"auto"}`, `karpenter.k8s.aws`, `eks.amazonaws.com`, "EC2NodeClass", "NodeClass").Replace(servedPool))
	told := make(chan string, 10)
	c, err := New(adminConfig, Options{NodePools: true, Karpenter: func(waits string) { told <- waits }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if waits := within(t, "a look at Karpenter's Lease", told); waits != "" {
		t.Fatalf("NodePools wait: %s", waits)
	}
	find := func(name string) *api.Provisioner {
		for _, p := range c.Provisioners() {
			if p.Name == name {
				return p
			}
		}
		return nil
	}
	eventually(t, "the NodePool counts", func() error {
		if find("served") == nil || len(c.NodeTemplates()) == 0 {
			return fmt.Errorf("%v", c.Waiting())
		}
		return nil
	})
	p := find("served")
	if p.Source == nil || p.Source.Waits != "" || p.UID == "" || p.Spec.Labels[api.LabelNodePool] != "served" || *p.Spec.KubeletConfiguration.MaxPods != 42 || p.Spec.ProviderRef.Name != "ec2nodeclass/served" {
		t.Errorf("stands for the NodePool: %+v", p)
	}
	if errs := api.CheckProvisioner(find("static")).Errors(); len(errs) != 1 || errs[0].Path != "spec.replicas" {
		t.Errorf("a fixed number of nodes: %v", errs)
	}
	if find("auto") != nil {
		t.Error("a NodePool of EKS Auto Mode is served")
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NoSubnets", Message: "no subnet matches", LastTransitionTime: metav1.Now()}
	if err := c.UpdateProvisionerStatus(t.Context(), "served", api.ProvisionerStatus{Nodes: 3, Conditions: []metav1.Condition{ready}}); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateNodeTemplateStatus(t.Context(), "ec2nodeclass/served", api.AWSNodeTemplateStatus{
		Subnets: []api.SubnetStatus{{ID: "subnet-1", Zone: "z"}}, Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
	}); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, nodePoolGVR, map[string]string{"Ready": "False", "ValidationSucceeded": "True", "NodeClassReady": "False"})
	wantConditions(t, nodeClassGVR, map[string]string{"Ready": "True", "SubnetsReady": "True", "AMIsReady": "True", "SecurityGroupsReady": "True", "InstanceProfileReady": "True"})

	if err := c.SetProvisionerFinalizer(t.Context(), "served", true); err != nil {
		t.Fatal(err)
	}
	if got := find("served").Finalizers; len(got) != 1 {
		t.Errorf("a NodePool with nodes has the finalizers %v", got)
	}
	ref := c.pools.reference(cluster.ObjectRef{Kind: api.ProvisionerKind, Name: "served"})
	if ref.Kind != "NodePool" || ref.APIVersion != "karpenter.sh/v1" {
		t.Errorf("events are about %+v", ref)
	}
}

func wantConditions(t *testing.T, gvr schema.GroupVersionResource, want map[string]string) {
	t.Helper()
	u, err := adminCustom.Resource(gvr).Get(t.Context(), "served", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range conditionsOf(u) {
		got[c.Type] = string(c.Status)
	}
	for kind, status := range want {
		if got[kind] != status {
			t.Errorf("%s: condition %s is %q, want %q", gvr.Resource, kind, got[kind], status)
		}
	}
}

// While Karpenter's Lease is renewed no NodePool is served, and it says why.
func TestNodePoolsWaitForKarpenter(t *testing.T) {
	definePools(t)
	createObject(t, nodePoolGVR, strings.ReplaceAll(servedPool, "served", "waiting"))
	lease := leaseOf("karpenter-1", time.Now())
	lease.Name, lease.Spec.LeaseDurationSeconds = KarpenterLease, ptr.To[int32](3600)
	if _, err := admin.CoordinationV1().Leases("kube-system").Create(t.Context(), &lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 10)
	c, err := New(adminConfig, Options{NodePools: true, Karpenter: func(waits string) { told <- waits }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if waits := within(t, "a look at Karpenter's Lease", told); !strings.Contains(waits, "karpenter-1 renews the Lease kube-system/karpenter-leader-election") {
		t.Fatalf("told %q", waits)
	}
	if said := c.Standby(); !strings.Contains(said, "karpenter-1 renews the Lease") {
		t.Errorf("stands by because of %q", said)
	}
	waits := func() string {
		for _, p := range c.Provisioners() {
			if p.Name == "waiting" {
				return p.Source.Waits
			}
		}
		return "not known yet"
	}
	eventually(t, "the NodePool waits", func() error {
		if got := waits(); !strings.HasPrefix(got, "Karpenter is running") {
			return fmt.Errorf("waits: %q", got)
		}
		return nil
	})
	if err := admin.CoordinationV1().Leases("kube-system").Delete(t.Context(), KarpenterLease, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := within(t, "the end of Karpenter's Lease", told); now != "" {
		t.Fatalf("told %q", now)
	}
	if got := waits(); got != "" {
		t.Errorf("the NodePool still waits: %s", got)
	}
	if said := c.Standby(); said != "" {
		t.Errorf("still stands by because of %q", said)
	}
}
