package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// lead makes Karpenter lead for the next hour.
func lead(t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: install.KarpenterLease}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("karpenter-1"), RenewTime: ptr.To(metav1.NowMicro()), LeaseDurationSeconds: ptr.To[int32](3600),
	}}
	if _, err := admin.CoordinationV1().Leases("kube-system").Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// resign ends that.
func resign(t *testing.T) {
	t.Helper()
	if err := admin.CoordinationV1().Leases("kube-system").Delete(t.Context(), install.KarpenterLease, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

var (
	nodePoolGVR  = kinds.NodePools.WithVersion("v1")
	nodeClassGVR = kinds.NodeClasses.WithVersion("v1")
	nodeClaimGVR = kinds.NodeClaims.WithVersion("v1")
)

// poolKinds are the kinds of Karpenter, with their resources.
var poolKinds = map[string]schema.GroupResource{"NodePool": kinds.NodePools, "EC2NodeClass": kinds.NodeClasses, "NodeClaim": kinds.NodeClaims}

// definePools installs the kinds of Karpenter without its rules.
func definePools(t *testing.T) {
	t.Helper()
	definePoolsIn(t, "v1")
}

// definePoolsIn installs the kinds of Karpenter in these versions, of which the first is
// stored.
func definePoolsIn(t *testing.T, versions ...string) {
	t.Helper()
	definePoolsAs(t, map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, versions...)
}

// definePoolsAs is definePoolsIn with a schema of all kinds.
func definePoolsAs(t *testing.T, schema map[string]any, versions ...string) {
	t.Helper()
	for kind, resource := range poolKinds {
		var served []any
		for i, version := range versions {
			served = append(served, map[string]any{
				"name": version, "served": true, "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": schema},
			})
		}
		crd := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": resource.String()},
			"spec": map[string]any{
				"group": resource.Group, "scope": "Cluster", "versions": served,
				"names": map[string]any{"kind": kind, "plural": resource.Resource, "singular": strings.ToLower(kind)},
			},
		}}
		if _, err := adminCustom.Resource(crds).Apply(t.Context(), crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
			t.Fatal(err)
		}
		planetest.Eventually(t, resource.Resource+" are served", func() error {
			_, err := adminCustom.Resource(resource.WithVersion(versions[len(versions)-1])).List(t.Context(), metav1.ListOptions{})
			return err
		})
	}
}

// removePools removes the kinds of Karpenter with all objects.
func removePools(t *testing.T) {
	t.Helper()
	for _, resource := range poolKinds {
		if err := adminCustom.Resource(crds).Delete(t.Context(), resource.String(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		planetest.Eventually(t, resource.Resource+" are gone", func() error {
			if _, err := adminCustom.Resource(crds).Get(t.Context(), resource.String(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the definition is there: %w", err)
			}
			return nil
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
	if waits := planetest.Within(t, "a look at Karpenter's Lease", told); waits != "" {
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
	planetest.Eventually(t, "the NodePool counts", func() error {
		if find("served") == nil || len(c.NodeTemplates()) == 0 {
			return fmt.Errorf("%v", c.Waiting())
		}
		return nil
	})
	p := find("served")
	if p.Source == nil || p.Source.Waits != "" || p.UID == "" || p.Spec.Labels[api.LabelNodePool] != "served" || *p.Spec.KubeletConfiguration.MaxPods != 42 || p.Spec.ProviderRef.Name != "ec2nodeclass/served" {
		t.Errorf("stands for the NodePool: %+v", p)
	}
	if errs := validate.Provisioner(find("static")).Errors(); len(errs) != 1 || errs[0].Path != "spec.replicas" {
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
		Subnets: []api.SubnetStatus{{ID: "subnet-1", Zone: "z"}}, AMIs: []api.AMIStatus{{ID: "ami-1"}, {ID: "ami-2", Deprecated: true}}, Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
		Reservations: []api.ReservationStatus{{ID: "cr-1", Zone: "z", InstanceType: "m5.large", OwnerID: "123456789012", MatchCriteria: "open", Type: "default", State: "active", End: metav1.Now()}},
	}); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, nodePoolGVR, map[string]string{"Ready": "False", "ValidationSucceeded": "True", "NodeClassReady": "False"})
	wantConditions(t, nodeClassGVR, map[string]string{"Ready": "True", "SubnetsReady": "True", "AMIsReady": "True", "SecurityGroupsReady": "True", "InstanceProfileReady": "True", "CapacityReservationsReady": "True"})
	wantReservation(t)
	wantDeprecated(t, false, true)

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

// wantReservation checks the capacity reservation in the status of the EC2NodeClass.
func wantReservation(t *testing.T) {
	t.Helper()
	class, err := adminCustom.Resource(nodeClassGVR).Get(t.Context(), "served", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(class.Object, "status", "capacityReservations")
	if len(list) != 1 {
		t.Fatalf("%v", list)
	}
	got := list[0].(map[string]any)
	for field, want := range map[string]any{
		"id": "cr-1", "availabilityZone": "z", "instanceType": "m5.large", "ownerID": "123456789012", "instanceMatchCriteria": "open",
		"reservationType": "default", "state": "active", "interruptible": false,
	} {
		if got[field] != want {
			t.Errorf("%s: %v", field, got[field])
		}
	}
	if got["endTime"] == nil {
		t.Error("no end")
	}
}

// wantDeprecated checks which images are deprecated in the status of the EC2NodeClass.
func wantDeprecated(t *testing.T, want ...bool) {
	t.Helper()
	class, err := adminCustom.Resource(nodeClassGVR).Get(t.Context(), "served", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(class.Object, "status", "amis")
	if len(list) != len(want) {
		t.Fatalf("%v", list)
	}
	for i := range list {
		if got, _ := list[i].(map[string]any)["deprecated"].(bool); got != want[i] {
			t.Errorf("%v is deprecated: %t", list[i], got)
		}
	}
}

// The CRDs of an older release of Karpenter have no status.nodes of a NodePool, and no capacityReservations and
// deprecated images of an EC2NodeClass. The rest of their status is written, and not again while it stays.
func TestStatusOfAnOlderKarpenter(t *testing.T) {
	removePools(t)
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	image := map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}}
	definePoolsAs(t, map[string]any{"type": "object", "properties": map[string]any{
		"spec": open,
		"status": map[string]any{"type": "object", "properties": map[string]any{
			"conditions": map[string]any{"type": "array", "items": open}, "resources": open, "amis": map[string]any{"type": "array", "items": image},
		}},
	}}, "v1")
	defer removePools(t)
	createObject(t, nodeClassGVR, servedClass)
	createObject(t, nodePoolGVR, servedPool)
	told, statuses := make(chan string, 10), 0
	c, err := New(adminConfig, Options{
		NodePools: true, Karpenter: func(waits string) { told <- waits },
		Requested: func(verb, resource string, _ int) {
			if verb == "patch" && strings.HasSuffix(resource, "/status") {
				statuses++
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	planetest.Within(t, "a look at Karpenter's Lease", told)
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}
	write := func() error {
		if len(c.Provisioners()) == 0 || len(c.NodeTemplates()) == 0 {
			return errors.New("not served yet")
		}
		pool := api.ProvisionerStatus{Nodes: 3, Conditions: []metav1.Condition{ready}}
		class := api.AWSNodeTemplateStatus{AMIs: []api.AMIStatus{{ID: "ami-2", Deprecated: true}}, Conditions: []metav1.Condition{ready}}
		return errors.Join(c.UpdateProvisionerStatus(t.Context(), "served", pool), c.UpdateNodeTemplateStatus(t.Context(), "ec2nodeclass/served", class))
	}
	planetest.Eventually(t, "the status is written", write)
	wantConditions(t, nodePoolGVR, map[string]string{"Ready": "True"})
	wantConditions(t, nodeClassGVR, map[string]string{"Ready": "True", "AMIsReady": "True"})
	if statuses < 2 {
		t.Fatalf("%d requests", statuses)
	}
	planetest.Eventually(t, "the cache has what was written", func() error {
		before := statuses
		if err := write(); err != nil || statuses > before {
			return fmt.Errorf("written again: %w", err)
		}
		return nil
	})
}

// A cluster with an older Karpenter serves v1beta1 alone. Its NodePools are served the same
// way. Once it serves v1 too, an agent that starts reads that.
func TestNodePoolsOfV1beta1(t *testing.T) {
	removePools(t)
	definePoolsIn(t, "v1beta1")
	defer removePools(t)
	beta := func(resource schema.GroupResource) schema.GroupVersionResource {
		return resource.WithVersion("v1beta1")
	}
	old := strings.NewReplacer("karpenter.sh/v1", "karpenter.sh/v1beta1", "karpenter.k8s.aws/v1", "karpenter.k8s.aws/v1beta1",
		`"group":"karpenter.k8s.aws"`, `"apiVersion":"karpenter.k8s.aws/v1beta1"`, `"kubelet":{"maxPods":42},`, "", `"alias":"al2023@latest"`, `"id":"ami-1"`)
	createObject(t, beta(kinds.NodeClasses), strings.Replace(old.Replace(servedClass), `"spec":{`, `"spec":{"amiFamily":"AL2023",`, 1))
	createObject(t, beta(kinds.NodePools), strings.Replace(old.Replace(servedPool), `"requirements":`, `"kubelet":{"maxPods":42},"requirements":`, 1))
	createObject(t, beta(kinds.NodeClaims), old.Replace(aNodeClaim))
	start := func() *Cluster {
		told := make(chan string, 10)
		c, err := New(adminConfig, Options{NodePools: true, Karpenter: func(waits string) { told <- waits }})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		planetest.Within(t, "a look at Karpenter's Lease", told)
		return c
	}
	served := func(c *Cluster, version string) func() error {
		return func() error {
			i := slices.IndexFunc(c.Provisioners(), func(p *api.Provisioner) bool { return p.Name == "served" })
			if i < 0 {
				return fmt.Errorf("waiting for %v", c.Waiting())
			}
			p := c.Provisioners()[i]
			if owner, kind := p.Owner(); owner != "karpenter.sh/"+version || kind != "NodePool" {
				return fmt.Errorf("its nodes belong to %s %s", owner, kind)
			}
			return nil
		}
	}
	c := start()
	planetest.Eventually(t, "the NodePool of v1beta1 counts", served(c, "v1beta1"))
	if p := c.Provisioners()[0]; *p.Spec.KubeletConfiguration.MaxPods != 42 || len(validate.Provisioner(p).Errors()) > 0 {
		t.Errorf("stands for it: %+v %v", p, validate.Provisioner(p))
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}
	if err := c.UpdateProvisionerStatus(t.Context(), "served", api.ProvisionerStatus{Conditions: []metav1.Condition{ready}}); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, beta(kinds.NodePools), map[string]string{"Ready": "True"})
	planetest.Eventually(t, "the EC2NodeClass is known", func() error {
		if _, ok := get[*unstructured.Unstructured](c.pools.nodeClasses, "", "served"); !ok {
			return errors.New("not yet")
		}
		return nil
	})
	if err := c.UpdateNodeTemplateStatus(t.Context(), "ec2nodeclass/served", api.AWSNodeTemplateStatus{Conditions: []metav1.Condition{ready}}); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, beta(kinds.NodeClasses), map[string]string{"Ready": "True"})
	claims := ClaimsOf(c)
	found, err := claims.NodeClaims(t.Context())
	if err != nil || len(found) != 1 || found[0].Pool != "served" {
		t.Fatalf("NodeClaims of v1beta1: %v, %v", found, err)
	}
	if err := claims.ReleaseNodeClaim(t.Context(), found[0]); err != nil {
		t.Fatal(err)
	}

	definePoolsIn(t, "v1beta1", "v1")
	c = start()
	planetest.Eventually(t, "the NodePool counts in v1", served(c, "v1"))
	if ref := c.pools.reference(cluster.ObjectRef{Kind: api.ProvisionerKind, Name: "served"}); ref.APIVersion != "karpenter.sh/v1" {
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
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		c := c.(map[string]any)
		got[c["type"].(string)] = c["status"].(string)
	}
	for kind, status := range want {
		if got[kind] != status {
			t.Errorf("%s: condition %s is %q, want %q", gvr.Resource, kind, got[kind], status)
		}
	}
}

// While Karpenter's Lease is renewed no NodePool is served, and it says why. Once the Lease is gone,
// another replica of Karpenter may still take it.
func TestNodePoolsWaitForKarpenter(t *testing.T) {
	definePools(t)
	createObject(t, nodePoolGVR, strings.NewReplacer("served", "waiting", `"nodeClassRef"`, `"terminationGracePeriod":"10m","nodeClassRef"`).Replace(servedPool))
	lead(t)
	told := make(chan string, 10)
	c, err := New(adminConfig, Options{NodePools: true, Karpenter: func(waits string) { told <- waits }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if waits := planetest.Within(t, "a look at Karpenter's Lease", told); !strings.Contains(waits, "karpenter-1 renews the Lease kube-system/karpenter-leader-election") {
		t.Fatalf("told %q", waits)
	}
	if said := c.Standby(); !strings.Contains(said, "karpenter-1 renews the Lease") {
		t.Errorf("stands by because of %q", said)
	}
	waits := func() string {
		for _, p := range c.Provisioners() {
			if p.Name == "waiting" {
				if limit := p.Spec.Disruption.TerminationGracePeriod; limit == nil || limit.Duration != 10*time.Minute {
					t.Errorf("the drains of its nodes have the limit %v, want 10m", limit)
				}
				return p.Source.Waits
			}
		}
		return "not known yet"
	}
	planetest.Eventually(t, "the NodePool waits", func() error {
		if got := waits(); !strings.HasPrefix(got, "Karpenter is running") {
			return fmt.Errorf("waits: %q", got)
		}
		return nil
	})
	resign(t)
	const free = "Karpenter is running: a replica has released the Lease kube-system/karpenter-leader-election"
	if now := planetest.Within(t, "the end of Karpenter's Lease", told); !strings.HasPrefix(now, free) {
		t.Fatalf("told %q", now)
	}
	if got := waits(); !strings.HasPrefix(got, free) {
		t.Errorf("the NodePool waits: %q", got)
	}
	if said := c.Standby(); !strings.HasPrefix(said, free) {
		t.Errorf("stands by because of %q", said)
	}
}
