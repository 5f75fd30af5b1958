package release_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/release"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// world is a cluster and a cloud.
type world struct {
	withFinalizer map[string]bool
	occupied      map[string]bool
	listing       time.Duration
	listings      int
	forgotten     []string
	forget        func(ctx context.Context) error
	unsettled     int
}

func (w *world) SetProvisionerFinalizer(_ context.Context, name string, present bool) error {
	w.withFinalizer[name] = present
	return nil
}

func (w *world) Forget(ctx context.Context, provisioner string) error {
	w.forgotten = append(w.forgotten, provisioner)
	return w.forget(ctx)
}

// provisioner returns one as the caches show it: with the finalizer.
func provisioner(name string) *view.Provisioner {
	p := &view.Provisioner{Raw: &api.Provisioner{}}
	p.Raw.Name, p.Raw.Finalizers = name, []string{api.Finalizer}
	return p
}

func seen(names ...string) *view.View {
	v := &view.View{Snapshot: &cluster.Snapshot{}}
	for _, name := range names {
		v.Provisioners = append(v.Provisioners, provisioner(name))
	}
	return v
}

// run runs a Releaser in a bubble.
func run(t *testing.T, w *world, test func(t *testing.T, r *release.Releaser)) {
	w.withFinalizer = map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		r := release.New(release.Ports{
			Finalizers: w, Leftovers: w, Log: hclog.NewNullLogger(), Unsettled: func() { w.unsettled++ }, Replan: func() {}, Failed: func(string) {},
			Occupied: func(context.Context) (map[string]bool, error) {
				w.listings++
				time.Sleep(w.listing)
				return w.occupied, nil
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = r.Run(ctx) }()
		test(t, r)
		stop()
		<-ended
	})
}

// One list of the instances serves all Provisioners, and those that have instances are kept and looked for.
func TestOneListOfInstances(t *testing.T) {
	w := &world{forget: func(context.Context) error { return nil }, occupied: map[string]bool{"b": true}}
	run(t, w, func(t *testing.T, r *release.Releaser) {
		r.Look(t.Context(), seen("a", "b", "c"))
		synctest.Wait()
		if w.listings != 1 || !slices.Equal(w.forgotten, []string{"a", "c"}) || w.unsettled != 1 {
			t.Errorf("%d lists, %d comparisons, forgot %v", w.listings, w.unsettled, w.forgotten)
		}
		if _, touched := w.withFinalizer["b"]; touched || w.withFinalizer["a"] || w.withFinalizer["c"] {
			t.Errorf("finalizers: %v", w.withFinalizer)
		}
		w.occupied = nil
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if kept, touched := w.withFinalizer["b"]; kept || !touched {
			t.Error("it is not let go although its instance is gone")
		}
	})
}

// However long a list of the instances takes, it lets one Provisioner go, and is not only made again.
func TestSlowLists(t *testing.T) {
	w := &world{forget: func(context.Context) error { return nil }, listing: 2 * time.Minute}
	run(t, w, func(t *testing.T, r *release.Releaser) {
		r.Look(t.Context(), seen("a", "b"))
		time.Sleep(5 * time.Minute)
		if !slices.Equal(w.forgotten, []string{"a", "b"}) || w.listings != 2 {
			t.Errorf("forgot %v with %d lists", w.forgotten, w.listings)
		}
	})
}

// What the cloud denies is asked for less and less often, however many turns there are.
func TestDenied(t *testing.T) {
	w := &world{forget: func(context.Context) error { return errors.New("denied") }}
	run(t, w, func(t *testing.T, r *release.Releaser) {
		for range 600 {
			r.Look(t.Context(), seen("a"))
			time.Sleep(time.Second)
		}
		if len(w.withFinalizer) > 0 || len(w.forgotten) < 10 || len(w.forgotten) > 16 || w.listings > 16 {
			t.Errorf("asked %d times with %d lists in ten minutes, finalizers %v", len(w.forgotten), w.listings, w.withFinalizer)
		}
	})
}

// A Provisioner that a machine is bought for is not released meanwhile, and gets its finalizer back.
func TestHoldEndsRelease(t *testing.T) {
	w := &world{forget: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	run(t, w, func(t *testing.T, r *release.Releaser) {
		r.Look(t.Context(), seen("a", "b"))
		synctest.Wait()
		if err := r.Hold(t.Context(), provisioner("b")); err != nil { // before its turn has come
			t.Error(err)
		}
		if err := r.Hold(t.Context(), provisioner("a")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if !slices.Equal(w.forgotten, []string{"a"}) || len(w.withFinalizer) > 0 {
			t.Errorf("began to release %v, finalizers %v", w.forgotten, w.withFinalizer)
		}
		w.forget = func(context.Context) error { return nil }
		r.Look(t.Context(), seen("a"))
		synctest.Wait()
		if held, touched := w.withFinalizer["a"]; held || !touched {
			t.Error("it is not released although it has no nodes")
		}
		if err := r.Hold(t.Context(), provisioner("a")); err != nil || !w.withFinalizer["a"] { // the caches still show it
			t.Errorf("it does not get its finalizer back: %v", err)
		}
	})
}

// A Provisioner that has got an instance since the instances were listed is not released by that list, although the
// instance has no Node object yet.
func TestHoldOutdatesTheList(t *testing.T) {
	w := &world{forget: func(context.Context) error { time.Sleep(10 * time.Second); return nil }}
	run(t, w, func(t *testing.T, r *release.Releaser) {
		r.Look(t.Context(), seen("a", "b"))
		synctest.Wait() // a is being released
		if err := r.Hold(t.Context(), provisioner("b")); err != nil {
			t.Error(err)
		}
		w.occupied = map[string]bool{"b": true}
		r.Look(t.Context(), seen("a", "b"))
		time.Sleep(time.Minute)
		if _, touched := w.withFinalizer["b"]; touched || slices.Contains(w.forgotten, "b") {
			t.Errorf("began to release %v, finalizers %v", w.forgotten, w.withFinalizer)
		}
	})
}

// A Provisioner with nodes gets the finalizer, unless it is being deleted.
func TestProvisionersWithNodes(t *testing.T) {
	w := &world{}
	run(t, w, func(t *testing.T, r *release.Releaser) {
		v := seen("a", "b", "c")
		now := v.Provisioners[1].Raw.CreationTimestamp
		for i, p := range v.Provisioners {
			if v.Snapshot.Nodes = append(v.Snapshot.Nodes, cluster.Node{Name: p.Raw.Name, Provisioner: p.Raw.Name}); i < 2 {
				p.Raw.Finalizers = nil
			}
		}
		v.Provisioners[1].Raw.DeletionTimestamp = &now
		r.Look(t.Context(), v)
		synctest.Wait()
		if len(w.withFinalizer) != 1 || !w.withFinalizer["a"] || w.listings > 0 {
			t.Errorf("finalizers %v, %d lists", w.withFinalizer, w.listings)
		}
	})
}
