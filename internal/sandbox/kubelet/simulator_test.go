package kubelet

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// world is a real control plane with a simulator.
type world struct {
	plane     *plane.Plane
	client    kubernetes.Interface
	simulator *Simulator
}

func newWorld(t *testing.T) *world {
	t.Helper()
	p := planetest.Start(t)
	simulator, err := New(Config{
		ClusterName: "demo", Region: "eu-west-1", Catalogue: []byte(testCatalogue), BootDelay: 50 * time.Millisecond,
		Admin: p.RESTConfig(), KubeletLabel: plane.KubeletLabel, KubeletLabelValue: plane.KubeletLabelValue,
		ImageName: func(_ context.Context, id string) (string, error) {
			if id == "ami-gone" {
				return "", errors.New("image ami-gone does not exist")
			}
			return "amazon-eks-node-al2023-x86_64-standard-1.36-v20261101", nil
		},
		Running: func(string) {}, Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(simulator.Stop)
	client, err := kubernetes.NewForConfig(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &world{plane: p, client: client, simulator: simulator}
}

// nodeConfig is user data that leads to the world's cluster, with replacements of
// its pieces.
func (w *world) nodeConfig(replacements ...string) []byte {
	document := fmt.Sprintf(`apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: 10.100.0.0/16
  kubelet:
    config:
      maxPods: 12
      registerWithTaints: [{key: dedicated, value: gpu, effect: NoSchedule}]
    flags: ['--node-labels="team=a"']
`, w.plane.Host, base64.StdEncoding.EncodeToString(w.plane.CA))
	return []byte(strings.NewReplacer(replacements...).Replace(document))
}

// machine is one that comes up as node-NAME.
func (w *world) machine(name string) Machine {
	return Machine{
		ID: "i-" + name, Type: "m5.large", ImageID: "ami-1", Zone: "eu-west-1b", PrivateIP: "10.0.0.7",
		PrivateDNSName: "node-" + name, InstanceProfile: "nodes", UserData: w.nodeConfig(),
	}
}

// await polls until a machine's node is in a phase.
func (w *world) await(t *testing.T, id string, phase Phase) Status {
	t.Helper()
	var last Status
	eventually(t, func() bool {
		for _, status := range w.simulator.Nodes() {
			if status.InstanceID == id {
				last = status
			}
		}
		return last.Phase == phase
	}, func() string {
		return fmt.Sprintf("node of %s is %s (%s), want %s", id, last.Phase, last.Reason, phase)
	})
	return last
}

func (w *world) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := w.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// patience is how long a condition may take, also on a machine that does much else.
const patience = 2 * time.Minute

// eventually polls a condition.
func eventually(t *testing.T, condition func() bool, failure func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(failure())
		}
	}
}

func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestSimulator(t *testing.T) {
	w := newWorld(t)
	t.Run("a machine becomes a node and dies", w.testLifeOfANode)
	t.Run("a node object that exists is taken over", w.testTakeOver)
	t.Run("pods that were bound before their node is up run", w.testEarlyPods)
	t.Run("what is wrong keeps a node away", w.testNodesThatStayAway)
	t.Run("a machine that is switched off while it boots", w.testOffWhileBooting)
}

func (w *world) testLifeOfANode(t *testing.T) {
	w.simulator.Boot(w.machine("a"))
	w.await(t, "i-a", Registered)
	eventually(t, func() bool { return ready(w.node(t, "node-a")) }, func() string { return "node-a does not become Ready" })

	node := w.node(t, "node-a")
	if node.Labels["team"] != "a" || node.Labels[corev1.LabelInstanceTypeStable] != "m5.large" {
		t.Errorf("labels = %v, want those of the user data and of the machine", node.Labels)
	}
	if got := node.Status.Allocatable.Pods().Value(); got != 12 {
		t.Errorf("allocatable pods = %d, want 12", got)
	}
	if got := node.Status.NodeInfo.KubeletVersion; !strings.HasPrefix(got, "v1.") {
		t.Errorf("kubelet version = %q, want the cluster's", got)
	}
	// The node-lifecycle controller takes its own taint away.
	eventually(t, func() bool {
		taints := w.node(t, "node-a").Spec.Taints
		return len(taints) == 1 && taints[0].Key == "dedicated"
	}, func() string {
		return fmt.Sprintf("taints = %v, want dedicated alone", w.node(t, "node-a").Spec.Taints)
	})

	eventually(t, func() bool {
		lease, err := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "node-a", metav1.GetOptions{})
		return err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == "node-a" &&
			len(lease.OwnerReferences) == 1 && lease.OwnerReferences[0].UID == node.UID
	}, func() string { return "node-a has no lease, or one that does not go with it" })

	w.simulator.Shutdown("i-a")
	w.await(t, "i-a", Stopped)
	eventually(t, func() bool {
		_, played := w.node(t, "node-a").Labels[plane.KubeletLabel]
		return !played
	}, func() string { return "kwok still plays the kubelet of a machine that is off" })
}

func (w *world) testTakeOver(t *testing.T) {
	wanted := map[string]string{"karpenter.sh/provisioner-name": "default"}
	predicted := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9"), corev1.ResourcePods: resource.MustParse("1")}
	_, err := w.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-b", Labels: maps.Clone(wanted)},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1b/i-b"},
		Status: corev1.NodeStatus{
			Capacity: predicted, Allocatable: predicted,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.simulator.Boot(w.machine("b"))
	w.await(t, "i-b", Registered)
	eventually(t, func() bool { return ready(w.node(t, "node-b")) }, func() string { return "node-b does not become Ready" })

	node := w.node(t, "node-b")
	if node.Labels["team"] != "" || node.Labels["karpenter.sh/provisioner-name"] != "default" {
		t.Errorf("labels = %v, want those of the object and none of the user data", node.Labels)
	}
	if diff := cmp.Diff("1930m", node.Status.Allocatable.Cpu().String()); diff != "" {
		t.Errorf("allocatable CPU (-want +got):\n%s", diff)
	}
	if got := node.Status.Allocatable.Pods().Value(); got != 12 {
		t.Errorf("allocatable pods = %d, want the kubelet's 12", got)
	}
}

func (w *world) testEarlyPods(t *testing.T) {
	pods := w.client.CoreV1().Pods(metav1.NamespaceDefault)
	const nodes = 8
	for i := range nodes {
		m := w.machine(fmt.Sprintf("early-%d", i))
		if _, err := w.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: m.PrivateDNSName},
			Spec:       corev1.NodeSpec{ProviderID: m.providerID()},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{notReady()}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			if _, err := pods.Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", m.PrivateDNSName, n), Labels: map[string]string{"app": "early"}},
				Spec: corev1.PodSpec{
					NodeName:   m.PrivateDNSName,
					Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
				},
			}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.simulator.Boot(m)
	}
	var waiting []string
	eventually(t, func() bool {
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=early"})
		if err != nil {
			t.Fatal(err)
		}
		waiting = nil
		for _, p := range list.Items {
			if p.Status.Phase != corev1.PodRunning {
				waiting = append(waiting, p.Name)
			}
		}
		return len(list.Items) == 4*nodes && len(waiting) == 0
	}, func() string { return fmt.Sprintf("pods %v do not run", waiting) })
}

func (w *world) testNodesThatStayAway(t *testing.T) {
	otherCA := base64.StdEncoding.EncodeToString(anotherAuthority(t))
	tests := map[string]struct {
		change func(*Machine)
		reason string
	}{
		"wrong-cluster":  {func(m *Machine) { m.UserData = w.nodeConfig("name: demo", "name: other") }, `cluster name is "other", not "demo"`},
		"wrong-endpoint": {func(m *Machine) { m.UserData = w.nodeConfig(w.plane.Host, "https://127.0.0.1:1") }, "connection refused"},
		"wrong-ca": {func(m *Machine) {
			m.UserData = w.nodeConfig(base64.StdEncoding.EncodeToString(w.plane.CA), otherCA)
		}, "certificate signed by unknown authority"},
		"restricted-label": {func(m *Machine) { m.UserData = w.nodeConfig("team=a", "node-restriction.kubernetes.io/team=a") }, "node-restriction.kubernetes.io/team"},
		"no-user-data":     {func(m *Machine) { m.UserData = nil }, "no user data"},
		"no-profile":       {func(m *Machine) { m.InstanceProfile = "" }, "there is no instance profile"},
		"other-family":     {func(m *Machine) { m.UserData = []byte("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n") }, "there is no NodeConfig"},
		"no-image":         {func(m *Machine) { m.ImageID = "ami-gone" }, "ami-gone does not exist"},
		"unknown-type":     {func(m *Machine) { m.Type = "m99.huge" }, "m99.huge is not in the catalogue"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := w.machine(name)
			test.change(&m)
			w.simulator.Boot(m)
			defer w.simulator.Shutdown(m.ID)
			if got := w.await(t, m.ID, Failed).Reason; !strings.Contains(got, test.reason) {
				t.Errorf("reason = %q, want %q in it", got, test.reason)
			}
			if _, err := w.client.CoreV1().Nodes().Get(t.Context(), m.PrivateDNSName, metav1.GetOptions{}); err == nil {
				t.Error("the node exists")
			}
		})
	}
}

func (w *world) testOffWhileBooting(t *testing.T) {
	m := w.machine("brief")
	w.simulator.Boot(m)
	w.simulator.Shutdown(m.ID)
	w.await(t, m.ID, Stopped)
	w.simulator.Boot(m)
	if got := w.await(t, m.ID, Stopped); got.Reason != "" {
		t.Errorf("status = %+v, want a machine that stays off", got)
	}
}

// anotherAuthority returns a certificate in PEM that has signed nothing here: that
// of httptest's servers.
func anotherAuthority(t *testing.T) []byte {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// TestDevicesComeLate: a kubelet reports no devices until their plugins have registered.
func TestDevicesComeLate(t *testing.T) {
	w := newWorld(t)
	gpus := func(name string) int64 {
		node, err := w.client.CoreV1().Nodes().Get(t.Context(), "node-"+name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		capacity, allocatable := node.Status.Capacity["nvidia.com/gpu"], node.Status.Allocatable["nvidia.com/gpu"]
		if capacity.Cmp(allocatable) != 0 {
			t.Errorf("%s: capacity %s and allocatable %s", name, capacity.String(), allocatable.String())
		}
		return capacity.Value()
	}
	boot := func(name string, delay time.Duration) {
		m := w.machine(name)
		m.Type = "g5.12xlarge"
		w.simulator.SetDeviceDelay(delay)
		w.simulator.Boot(m)
		w.await(t, m.ID, Registered)
	}
	boot("soon", time.Second)
	if n := gpus("soon"); n != 0 {
		t.Errorf("%d GPUs before the plugin is up", n)
	}
	boot("never", -1)
	boot("now", 0)
	if n := gpus("now"); n != 4 {
		t.Errorf("%d GPUs, want 4", n)
	}
	eventually(t, func() bool { return gpus("soon") == 4 }, func() string { return "the GPUs have not come" })
	if n := gpus("never"); n != 0 {
		t.Errorf("%d GPUs without a plugin", n)
	}
}
