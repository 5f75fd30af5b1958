package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// TestRemovalInTheWrongOrder deletes by hand what should go last: no instance runs
// on unnoticed.
func TestRemovalInTheWrongOrder(t *testing.T) {
	t.Parallel()
	s := newInstalled(t, "testdata/agent")
	s.startHost()
	s.terraform("apply", "-auto-approve", "-no-color", "-target", "packhorse_irsa_role.agent")
	manifests := s.manifests(s.built("packhorse-agent"))
	s.apply(manifests)
	s.work("web", 3)

	t.Run("the definitions first", func(t *testing.T) {
		s := s.within(t)
		for _, crd := range api.CRDs() {
			if err := s.Dynamic.Resource(crdResource).Delete(t.Context(), crd.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		s.untilNoNodes("")
		s.until("the definitions are gone", func(ctx context.Context) (bool, string, error) {
			list, err := s.Dynamic.Resource(crdResource).List(ctx, metav1.ListOptions{})
			return err == nil && len(list.Items) == 0, "", err
		})
	})

	s.delete("web")
	s.apply(manifests)
	s.until("the kinds are served again", func(context.Context) (bool, string, error) {
		left := s.remains()
		return len(left) == 5, fmt.Sprint(left), nil
	})
	s.work("api", 3)
	t.Run("the namespace first", func(t *testing.T) {
		s := s.within(t)
		nodes, live := s.boughtNodes(), s.live("")
		if err := s.Kube.CoreV1().Namespaces().Delete(t.Context(), stage.Namespace, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.until("the agents are gone", func(context.Context) (bool, string, error) {
			left := s.remains()
			return len(s.host.Agents()) == 0 && len(left) == 3, fmt.Sprint(left), nil
		})
		// The next command that a user would run hangs, and says why.
		for name := range nodes {
			if err := s.Kube.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		left, err := s.nodes(t.Context(), "")
		if err != nil || len(left) != len(nodes) || s.live("") != live {
			t.Errorf("%d nodes, %d instances, %v; before %d and %d", len(left), s.live(""), err, len(nodes), live)
		}
		for _, n := range left {
			if n.DeletionTimestamp == nil || len(n.Finalizers) == 0 {
				t.Errorf("node %s: deleted %v, finalizers %v", n.Name, n.DeletionTimestamp, n.Finalizers)
			}
		}
		s.until("the namespace is gone", func(ctx context.Context) (bool, string, error) {
			_, err := s.Kube.CoreV1().Namespaces().Get(ctx, stage.Namespace, metav1.GetOptions{})
			return err != nil, "", nil
		})
		s.deleteProvisioner("default")
		s.apply(manifests) // the agent finishes what was begun
		s.untilNoNodes("")
	})
}
