package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

func TestKindsMayComeLater(t *testing.T) {
	for _, crd := range api.CRDs() {
		if err := adminCustom.Resource(crds).Delete(t.Context(), crd.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := installCRDs(context.Background()); err != nil {
			t.Error(err)
		}
	})
	planetest.Eventually(t, "the kinds are unknown", func() error {
		for _, kind := range []schema.GroupVersionResource{api.ProvisionerGVR, api.NodeTemplateGVR} {
			if _, err := adminCustom.Resource(kind).List(t.Context(), metav1.ListOptions{}); err == nil {
				return fmt.Errorf("%s are known", kind.Resource)
			}
		}
		return nil
	})
	c := unsynced(t)
	planetest.Eventually(t, "only the two kinds are waited for, and it is said why", func() error {
		waiting := c.Waiting()
		if len(waiting) != 2 || c.Synced() {
			return fmt.Errorf("waiting for %q", waiting)
		}
		for _, w := range waiting {
			if !strings.Contains(w, "could not find the requested resource") {
				return fmt.Errorf("got %q", w)
			}
		}
		return nil
	})
	if err := installCRDs(t.Context()); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the caches are filled", func() error {
		if !c.Synced() || len(c.Waiting()) > 0 {
			return fmt.Errorf("waiting for %q", c.Waiting())
		}
		return nil
	})
}

func TestStartTwice(t *testing.T) {
	if err := unsynced(t).Start(t.Context()); err == nil {
		t.Error("a second start is accepted")
	}
}

func TestOneUnreadableResourceLeavesTheOthers(t *testing.T) {
	c := connect(t)
	newProvisioner(t, "readable", map[string]any{"weight": int64(5), "limits": map[string]any{"cpu": "10"}})
	u := newProvisioner(t, "unreadable", map[string]any{"provider": map[string]any{"amiFamily": "AL2"}})
	cachedProvisioner(t, c, "readable")
	cachedProvisioner(t, c, "unreadable")
	// The API server's schema does not let one through, an older one may have.
	broken := u.DeepCopy()
	broken.Object["spec"] = map[string]any{"weight": "heavy"}
	broken.SetDeletionTimestamp(ptr.To(metav1.Now()))
	broken.SetFinalizers([]string{"example.com/holds"})
	if err := c.caches.provisioners.informer.GetStore().Update(withVersion(broken, "0")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range c.Provisioners() {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"readable"}, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	read := map[string]string{}
	for _, r := range c.Readings() {
		read[r.Object.Name] = r.Findings.Error()
		if unreadable := r.Object.Name == "unreadable"; unreadable != (r.Deleted != nil) || unreadable != (len(r.Finalizers) == 1) {
			t.Errorf("%s is deleted at %v and held by %v", r.Object.Name, r.Deleted, r.Finalizers)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"readable":   "spec.limits.cpu: unknown field, ignored; move it into spec.limits.resources",
		"unreadable": `spec.weight: "heavy" is a string, and must be a whole number`,
	}, read); diff != "" {
		t.Errorf("readings -want +got\n%s", diff)
	}
}

func TestSnapshotFollowsTheCluster(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	drain := func() {
		select {
		case <-c.Changed():
		default:
		}
	}
	pod := newPod(t, ns, "web", nil)
	find := func() (cluster.Pod, bool) {
		all := c.Snapshot().Pods
		i := slices.IndexFunc(all, func(p cluster.Pod) bool { return p.PodKey == keyOf(pod) })
		if i < 0 {
			return cluster.Pod{}, false
		}
		return all[i], true
	}
	planetest.Eventually(t, "kube-scheduler has marked the pod", func() error {
		if p, _ := find(); p.State != cluster.PodPending {
			return fmt.Errorf("it is %q", p.State)
		}
		return nil
	})
	planetest.Within(t, "a pod that waits", c.Unbound())
	drain()
	emptyNode(t, c, "snapshot-a")
	if err := c.Bind(t.Context(), keyOf(pod), "snapshot-a"); err != nil {
		t.Fatal(err)
	}
	planetest.Within(t, "a change", c.Changed())
	planetest.Within(t, "a pod that has got a node", c.Unbound())
	planetest.Eventually(t, "the pod is bound", func() error {
		if p, _ := find(); p.State != cluster.PodBound || p.NodeName != "snapshot-a" {
			return fmt.Errorf("it is %q", p.State)
		}
		return nil
	})
	live, err := admin.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live.Status.Phase = corev1.PodSucceeded
	if _, err := admin.CoreV1().Pods(ns).UpdateStatus(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "a finished pod is left out", func() error {
		if _, there := find(); there {
			return errors.New("it is there")
		}
		return nil
	})
}

// The heartbeat of a node is not noted as a change: the cluster would never come to rest.
func TestHeartbeatsAreNoChange(t *testing.T) { // CONS-057
	c := connect(t)
	noted := map[string]bool{}
	add := func(node string) {
		t.Helper()
		emptyNode(t, c, node)
		planetest.Eventually(t, "all changes until then are noted", func() error {
			for name := range c.caches.nodes.changes.take() {
				noted[name.Name] = true
			}
			if !noted[node] {
				return errors.New("they are not")
			}
			return nil
		})
	}
	add("heartbeat-a")
	add("heartbeat-b")
	attempt := 0
	planetest.Eventually(t, "a heartbeat comes without another change of the node, and is not noted", func() error {
		attempt++
		delete(noted, "heartbeat-a")
		n, err := admin.CoreV1().Nodes().Get(t.Context(), "heartbeat-a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(n.Status.Conditions) == 0 {
			return errors.New("the node has no conditions")
		}
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Duration(attempt) * time.Minute))
		}
		if _, err := admin.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			return err // a controller has changed the node
		}
		add(fmt.Sprintf("heartbeat-c%d", attempt))
		if noted["heartbeat-a"] {
			return errors.New("it is noted")
		}
		return nil
	})
}

func TestUnreachableClusterIsSaid(t *testing.T) {
	cfg := *adminConfig
	cfg.Host = "https://127.0.0.1:1"
	c, err := New(&cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "each cache names the trouble", func() error {
		for _, w := range c.Waiting() {
			if !strings.Contains(w, "connection refused") {
				return fmt.Errorf("got %q", w)
			}
		}
		return nil
	})
	started := time.Now()
	if _, err := c.NodeReady(t.Context(), "n"); err == nil || time.Since(started) > callTimeout {
		t.Errorf("got %v after %s, want an error in bounded time", err, time.Since(started))
	}
}

func TestRESTConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	file := clientcmdapi.NewConfig()
	for _, name := range []string{"a", "b"} {
		file.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name + ".example.com"}
		file.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	}
	file.Contexts["lost"] = &clientcmdapi.Context{Cluster: "gone"}
	file.CurrentContext = "a"
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"": "https://a.example.com", "b": "https://b.example.com"} {
		cfg, err := RESTConfig(path, context)
		if err != nil || cfg.Host != want {
			t.Errorf("context %q: got %v, %v", context, cfg, err)
		}
	}
	if _, err := RESTConfig(path, "lost"); err == nil || !strings.Contains(err.Error(), `the context "lost" names a cluster that is not in the kubeconfig `+path) {
		t.Errorf("a context whose cluster is not there: %v", err)
	}
	if _, err := RESTConfig(path, "absent"); err == nil {
		t.Error("a context that is not there is accepted")
	}
	if _, err := RESTConfig(filepath.Join(t.TempDir(), "absent"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file does not exist", err)
	}
}

// Somebody without a cluster is told which flag names one.
func TestNoClusterNamesTheFlag(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := RESTConfig("", ""); err == nil || !strings.Contains(err.Error(), "--kubeconfig") || strings.Contains(err.Error(), "KUBERNETES_MASTER") {
		t.Errorf("without a kubeconfig: %v", err)
	}
}
