package assign_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign/assigntest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// TestDaemonSetsAreCountedOnce: what DaemonSets leave to pods that are constrained by node is
// worked out for each set of DaemonSets, and not for each of the many offerings that have it.
func TestDaemonSetsAreCountedOnce(t *testing.T) {
	port := func(number int32) []cluster.HostPort {
		return []cluster.HostPort{{Port: number, Protocol: corev1.ProtocolTCP}}
	}
	p := assigntest.LimitedTo(0, assigntest.PodsOf{N: 1, CPU: 100})
	p.Pods[0].Pod.Template.HostPorts = port(90)
	one := p.Provisioners[0]
	p.Provisioners = nil
	for i := range 40 {
		p.Provisioners = append(p.Provisioners, assign.Provisioner{Types: one.Types, Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%02d", i)}}})
	}
	daemon := func(number int32, selector map[string]string) cluster.DaemonSet {
		return cluster.DaemonSet{Template: &cluster.Template{
			Namespace: "default", Requests: amount.List{amount.CPU: 1, amount.Pods: 1}, HostPorts: port(number), NodeSelector: selector,
		}}
	}
	p.Snapshot.DaemonSets = []cluster.DaemonSet{daemon(80, nil), daemon(90, map[string]string{api.LabelZone: "one"})}
	a := assign.Prepare(p, make(assign.Limits, 40), model.NewEffort(p.Pods, 0)).New()
	c := a.Classes()[0]
	o, _ := a.OptionsAt(c, c.Level)
	left := 0
	for k := range a.Fitting(c.Need, c.PerNode, false, o).All {
		if left++; a.Offerings[k].Offer.Zone != "two" {
			t.Fatalf("offering %d is in zone %s, where a DaemonSet has the port", k, a.Offerings[k].Offer.Zone)
		}
	}
	if left != len(a.Offerings)/2 || left == 0 {
		t.Errorf("%d of %d offerings hold the pod, want half of them", left, len(a.Offerings))
	}
	if got := testing.AllocsPerRun(10, func() { a.Fitting(c.Need, c.PerNode, false, o) }); got > 20 {
		t.Errorf("a look at %d offerings with 2 sets of DaemonSets takes %v allocations, want at most 20", len(a.Offerings), got)
	}
}
