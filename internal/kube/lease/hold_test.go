package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// Who waits for a Lease leads only after the work, and the end of the work tells of them. Leases of the name that agents
// have left in other namespaces are not those that are held.
func TestHold(t *testing.T) {
	for range 3 {
		left := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace(t), Name: "hold"}}
		if _, err := admin.CoordinationV1().Leases(left.Namespace).Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	agent := Options{Namespace: namespace(t), Name: "hold", Identity: "agent", Fence: fence.New()}
	first := stand(t, agent)
	planetest.Within(t, "the first term", first.elected)
	first.end(t)

	o := Options{Name: agent.Name, Identity: "work", Fence: fence.New()}
	var second *candidate
	next, err := Hold(t.Context(), adminConfig, o, func(ctx context.Context) error {
		if err := o.Fence.Check(); err != nil {
			t.Errorf("the work may change nothing: %v", err)
		}
		second = stand(t, agent)
		select {
		case <-second.elected:
			t.Error("the agent leads during the work")
		case <-ctx.Done():
			t.Error("the agent ends the work")
		case <-time.After(2 * succession):
		}
		return nil
	})
	if err != nil || next != "agent renews the Lease "+agent.Namespace+"/hold" {
		t.Errorf("next: %q, %v", next, err)
	}

	impatient, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Hold(impatient, adminConfig, o, func(context.Context) error { return nil }); err == nil || err.Error() != context.DeadlineExceeded.Error() {
		t.Errorf("the caller has ended the wait for the agent: %v", err)
	}
	second.end(t)

	failed := errors.New("it failed")
	if _, err := Hold(t.Context(), adminConfig, o, func(context.Context) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("of work that has failed: %v", err)
	}
	if next, err := Hold(t.Context(), adminConfig, o, func(context.Context) error { return nil }); next != "" || err != nil {
		t.Errorf("nobody waits: %q, %v", next, err)
	}
	if list, err := admin.CoordinationV1().Leases("").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=hold"}); err != nil || len(list.Items) != 4 {
		t.Errorf("%d Leases: %v", len(list.Items), err)
	}
}
