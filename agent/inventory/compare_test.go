package inventory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// account has instances, and notes which of them are terminated.
type account struct {
	instances  []offer.Instance
	terminated []string
	pods       []cluster.Pod // on each node
	listing    func()        // is called while instances are listed
	denied     error         // in place of the instances
	found      []offer.Instance
	tagging    time.Duration // how long it takes to tag an instance
}

func (a *account) Instances(context.Context) ([]offer.Instance, error) {
	if a.listing != nil {
		a.listing()
	}
	return a.instances, a.denied
}

func (a *account) Claim(context.Context) error                              { return nil }
func (a *account) Find(context.Context, []string) ([]offer.Instance, error) { return a.found, nil }
func (a *account) PodsOn(context.Context, string) ([]cluster.Pod, error)    { return a.pods, nil }
func (a *account) NodeReady(context.Context, string) (bool, error)          { return false, nil }
func (a *account) Event(cluster.ObjectRef, string, string, string)          {}

func (a *account) Retag(context.Context, offer.Instance) error {
	time.Sleep(a.tagging)
	return nil
}

func (a *account) Terminate(_ context.Context, ids []string) ([]string, error) {
	a.terminated = append(a.terminated, ids...)
	return ids, nil
}

func (a *account) inventory() *Inventory {
	return New(Ports{
		Listing: a, Reader: a, Machines: a, Nodes: &nodes.Writer{}, Assumed: nodes.NewAssumptions(), Events: event.NewRecorder(a), Metrics: metrics.New(), Log: hclog.NewNullLogger(),
		Launching: func(string) bool { return false }, Ended: func(*cluster.Node) {}, Replan: func() {}, Redrain: func() {}, StartupTimeout: 15 * time.Minute,
	})
}

// A comparison does not answer what is asked for while it lists the instances: it may have looked too early.
func TestAskedForWhileInstancesAreListed(t *testing.T) {
	a := &account{}
	inventory := a.inventory()
	a.listing = inventory.Unsettled
	v := &view.View{Snapshot: &cluster.Snapshot{}}
	if inventory.Compare(t.Context(), v); inventory.Complete() || !inventory.Due(time.Hour) || !inventory.Waits() {
		t.Error("the comparison counts as one that looked later than it did")
	}
	a.listing = nil
	if inventory.Compare(t.Context(), v); !inventory.Complete() || inventory.Due(time.Hour) {
		t.Error("the next comparison does not answer it")
	}
}

// Whoever waits for a Provisioner to go finds in the metrics that its instances cannot be listed.
func TestInstancesThatAreNotListedCount(t *testing.T) {
	a := &account{}
	inventory := a.inventory()
	counted := func() bool {
		page := httptest.NewRecorder()
		inventory.Metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/", nil))
		return strings.Contains(page.Body.String(), `packhorse_cloud_errors_total{call="Instances"} 1`)
	}
	if _, err := inventory.Occupied(t.Context()); err == nil || counted() {
		t.Errorf("before the first comparison: %v, counts: %t", err, counted())
	}
	inventory.Compare(t.Context(), &view.View{Snapshot: &cluster.Snapshot{}})
	a.denied = errors.New("access denied")
	if _, err := inventory.Occupied(t.Context()); !errors.Is(err, a.denied) || !counted() {
		t.Errorf("denied: %v, counts: %t", err, counted())
	}
}

// What the cloud lists when a Provisioner is to go, its next answer may lack. Nothing is bought in its place.
func TestInstancesThatOnlyOneAnswerHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{}
		inventory := a.inventory()
		p := &view.Provisioner{Raw: &api.Provisioner{}}
		v := &view.View{Snapshot: &cluster.Snapshot{}, ByName: map[string]*view.Provisioner{"default": p}}
		compared := func() bool {
			inventory.Compare(t.Context(), v)
			return inventory.Complete()
		}
		occupied := func() bool {
			occupied, err := inventory.Occupied(t.Context())
			return err == nil && occupied["default"]
		}
		if !compared() {
			t.Error("something is missing before there is an instance")
		}
		a.instances = []offer.Instance{{ID: "i-1", ProviderID: "aws:///a/i-1", LaunchID: "launch", Provisioner: "default", State: offer.StateRunning, Owned: true}}
		if !occupied() {
			t.Error("the instance is not seen")
		}
		if a.instances = nil; compared() || !occupied() {
			t.Error("the instance is taken for gone by one answer")
		}
		if time.Sleep(offer.ListingLag); !compared() || occupied() {
			t.Error("the instance is not taken for gone, however long answers lack it")
		}
	})
}

// Instances whose kubelets have registered are not remembered for longer than their nodes are there.
func TestInstancesThatWereMetAreForgotten(t *testing.T) {
	a := &account{}
	inventory := a.inventory()
	p := &view.Provisioner{Raw: &api.Provisioner{}}
	v := &view.View{ByName: map[string]*view.Provisioner{"default": p}, Snapshot: &cluster.Snapshot{Nodes: []cluster.Node{{Name: "n", ProviderID: "aws:///a/i-1", Provisioner: "default"}}}}
	if !inventory.Returned(t.Context(), v) || inventory.Returned(t.Context(), v) {
		t.Error("a node asks for another number of comparisons than one")
	}
	inventory.Compare(t.Context(), v)
	if inventory.Returned(t.Context(), v) {
		t.Error("a node asks for another comparison")
	}
	v.Snapshot = &cluster.Snapshot{}
	inventory.Compare(t.Context(), v)
	if len(inventory.met) > 0 {
		t.Errorf("remembered: %v", inventory.met)
	}
}

// An instance that somebody has stopped, and that has no Node object, is terminated once, and not before it is old.
func TestStoppedInstances(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		age  time.Duration
		node bool
		pods []cluster.Pod
		want []string
	}{
		"young":         {age: time.Minute},
		"old":           {age: time.Hour, want: []string{"i-1"}},
		"it has a node": {age: time.Hour, node: true},
		"its pods go":   {age: time.Hour, pods: []cluster.Pod{{State: cluster.PodTerminating, Template: &cluster.Template{}}}},
	} {
		for _, state := range []offer.InstanceState{offer.StateStopping, offer.StateStopped} {
			i := offer.Instance{ID: "i-1", ProviderID: "aws:///a/i-1", NodeName: "n", LaunchID: "launch", Provisioner: "default", State: state, LaunchedAt: now.Add(-c.age), Owned: true}
			a := &account{instances: []offer.Instance{i}, pods: c.pods}
			inventory := a.inventory()
			p := &view.Provisioner{Raw: &api.Provisioner{}}
			p.Raw.Name = "default"
			v := &view.View{Now: now, Snapshot: &cluster.Snapshot{}, Provisioners: []*view.Provisioner{p}, ByName: map[string]*view.Provisioner{"default": p}}
			if c.node {
				v.Snapshot.Nodes = []cluster.Node{{Name: "n", ProviderID: i.ProviderID, Provisioner: "default", Deleting: true}}
			}
			for range 2 {
				inventory.Compare(t.Context(), v)
			}
			if diff := cmp.Diff(c.want, a.terminated); diff != "" {
				t.Errorf("%s, %s: -want +got\n%s", name, state, diff)
			}
		}
	}
}

// A script removes tags from all instances. They are put back side by side, because planning waits for that.
func TestTagsOfManyInstancesArePutBack(t *testing.T) {
	for name, listed := range map[string]bool{"of the cluster": false, "the name of the Provisioner": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &account{tagging: time.Second}
				inventory := a.inventory()
				p := &view.Provisioner{Raw: &api.Provisioner{}}
				v := &view.View{Snapshot: &cluster.Snapshot{}, ByName: map[string]*view.Provisioner{"default": p}}
				for k := range parallel.NodesAtOnce {
					n := cluster.Node{
						Name: fmt.Sprintf("n-%d", k), ProviderID: fmt.Sprintf("aws:///a/i-%d", k), Provisioner: "default",
						Finalizers: []string{api.Finalizer}, Annotations: map[string]string{api.AnnotationLaunchID: "launch"},
					}
					v.Snapshot.Nodes = append(v.Snapshot.Nodes, n)
					i := offer.Instance{ID: n.InstanceID(), ProviderID: n.ProviderID, NodeName: n.Name, LaunchID: "launch", State: offer.StateRunning, Owned: listed}
					if listed {
						a.instances = append(a.instances, i)
					} else {
						a.found = append(a.found, i)
					}
				}
				before := time.Now()
				if inventory.Compare(t.Context(), v); time.Since(before) != a.tagging {
					t.Errorf("it took %s", time.Since(before))
				}
			})
		})
	}
}

// A termination that has failed once says nothing about the hours after that, in which nobody has tried again.
func TestTerminationsThatFailForLong(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		want  bool
	}{"again and again": {time.Minute, true}, "now and then": {50 * time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			inventory := (&account{}).inventory()
			s := &cluster.Snapshot{Nodes: []cluster.Node{{Name: "a", Provisioner: "default", ProviderID: "aws:///a/i-1", Deleting: true, Finalizers: []string{api.Finalizer}}}}
			denied := func() bool { return inventory.Counted(s).Nodes[0].Unterminated }
			for range 4 * time.Hour / c.every {
				inventory.Terminated("i-1", false)
				time.Sleep(c.every)
			}
			if denied() != c.want {
				t.Errorf("%s: the cloud has refused for long: %t", name, denied())
			}
			time.Sleep(2 * time.Hour)
			if inventory.settled(0, nil, &nodeless{}); len(inventory.denied) > 0 {
				t.Errorf("%s: %v is remembered although nobody tries any more", name, inventory.denied)
			}
		})
	}
}
