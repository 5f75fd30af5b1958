package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/kubelet"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/process"
)

// goneVisible is how long a machine that is gone is still listed.
const goneVisible = time.Hour

// Cloud is a process's connection to the cloud.
type Cloud struct{ *client }

// machine is an instance with what its kubelet registers.
type machine struct {
	offer.Instance
	spec    offer.NodeSpec
	node    string // the name under which its kubelet registers
	up      bool   // its kubelet runs
	bare    bool   // its device plugins do not run
	booted  bool   // it was up at some time
	again   bool   // its kubelet has registered again after its end began
	silent  bool   // its kubelet runs but does not answer
	goneAt  time.Time
	used    bool // a workload's pod was placed on its node
	noticed bool // the cloud has said that something will happen to it
	// untagged: it has lost the tags by which it is listed. forgotten: all of them. unlisted: answers do not show it.
	untagged, forgotten, unlisted bool
}

// Market sells the whole catalogue to everybody.
func (c *Cloud) Market(ctx context.Context, _ *api.Provisioner, _ *api.NodeProfile) (offer.Market, error) {
	var m offer.Market
	err := c.do(ctx, "Market", func(w *world) error {
		m = w.stock.Market(w.inReservations(), time.Now())
		return nil
	})
	return m, err
}

// inReservations counts the machines in each capacity reservation.
func (w *world) inReservations() map[string]int64 {
	in := map[string]int64{}
	for _, m := range w.machines {
		if m.Reservation != "" && m.State != offer.StateGone {
			in[m.Reservation]++
		}
	}
	return in
}

// Claim refuses the orders of other processes from now on, as EC2 does by the launch
// templates that a claim deletes. A process makes its own again once an order was refused,
// so that a claim that comes late stops the leader for one order.
func (c *Cloud) Claim(ctx context.Context) error {
	return c.do(ctx, "Claim", func(w *world) error {
		w.claims.Claim(c.Process)
		return nil
	})
}

// Launch serves an order as far as the pools reach.
func (c *Cloud) Launch(ctx context.Context, order offer.Order) (offer.Delivery, error) {
	begun := time.Now()
	if err := process.Sleep(ctx, c.world.options.LaunchTime); err != nil {
		return offer.Delivery{}, fmt.Errorf("launch %s: %w", order.LaunchID, err)
	}
	var delivery offer.Delivery
	err := c.do(ctx, "Launch", func(w *world) error {
		if !w.claims.Admit(c.Process, begun) {
			return fmt.Errorf("launch %s: another process has claimed the launches", order.LaunchID)
		}
		delivery = w.deliver(order)
		return nil
	})
	if err != nil {
		return offer.Delivery{}, err
	}
	return delivery, nil
}

// deliver serves an order once. What is left of an earlier order with its id counts
// for it: only what is missing is bought.
func (w *world) deliver(order offer.Order) offer.Delivery {
	var left []offer.Instance
	for _, i := range w.deliveries[order.LaunchID] {
		if m := w.machines[i.ID]; m != nil && m.Runs() {
			left = append(left, m.Instance)
		}
	}
	if len(left) >= order.Count {
		return offer.Delivery{Instances: left[:order.Count]}
	}
	w.launchTemplates[order.Provisioner] = true
	w.launches = append(w.launches, order)
	rest := order
	rest.Count -= len(left)
	sold, refusals := w.stock.Serve(rest, w.inReservations(), time.Now())
	out := offer.Delivery{Instances: left, Refusals: refusals}
	for _, c := range sold {
		out.Instances = append(out.Instances, w.start(order, c))
	}
	w.deliveries[order.LaunchID] = out.Instances
	return out
}

// start makes a machine, whose kubelet comes up after the boot time.
func (w *world) start(order offer.Order, c offer.Candidate) offer.Instance {
	n := w.next()
	id := fmt.Sprintf("i-%017x", n)
	m := &machine{spec: order.Node, Instance: offer.Instance{
		ID:           id,
		ProviderID:   "aws:///" + c.Zone + "/" + id,
		NodeName:     fmt.Sprintf("ip-10-0-%d-%d.sim.internal", n/256, n%256),
		LaunchID:     order.LaunchID,
		Provisioner:  order.Provisioner,
		InstanceType: c.InstanceType,
		Zone:         c.Zone,
		CapacityType: c.CapacityType,
		Reservation:  c.Reservation,
		ImageID:      "ami-sim",
		State:        offer.StatePending,
		LaunchedAt:   w.now().Time,
		Tags:         maps.Clone(order.Tags),
	}}
	if w.named != nil {
		m.NodeName = cmp.Or(w.named(m.Instance), m.NodeName)
	}
	m.node = m.NodeName
	if w.bootsAs != nil {
		m.node = cmp.Or(w.bootsAs(m.Instance), m.node)
	}
	w.machines[id] = m
	w.audit.bought(w, order.Provisioner)
	if w.neverBoots == nil || !w.neverBoots(m.Instance) {
		time.AfterFunc(w.options.BootTime, func() { w.kubelets().boot(id) })
	}
	return m.Instance
}

// Instances lists the machines, and for a while those that are gone.
func (c *Cloud) Instances(ctx context.Context) ([]offer.Instance, error) {
	var out []offer.Instance
	err := c.do(ctx, "Instances", func(w *world) error {
		for _, id := range slices.Sorted(maps.Keys(w.machines)) {
			if m := w.machines[id]; m.visible() && !m.untagged {
				out = append(out, m.seen())
			}
		}
		return nil
	})
	return out, err
}

func (m *machine) visible() bool {
	return !m.unlisted && (m.State != offer.StateGone || time.Since(m.goneAt) < goneVisible)
}

func (m *machine) seen() offer.Instance {
	out := m.Instance
	if out.Owned = !m.untagged; m.untagged {
		out.Tags, out.LaunchID, out.Provisioner = nil, "", ""
	}
	return out
}

// Find returns machines by their ids.
func (c *Cloud) Find(ctx context.Context, ids []string) ([]offer.Instance, error) {
	var out []offer.Instance
	err := c.do(ctx, "Find", func(w *world) error {
		for _, id := range ids {
			if m := w.machines[id]; m != nil && m.visible() {
				out = append(out, m.seen())
			}
		}
		return nil
	})
	return out, err
}

// Retag puts the tags of a machine back, unless it has lost all of them.
func (c *Cloud) Retag(ctx context.Context, i offer.Instance) error {
	return c.do(ctx, "Retag", func(w *world) error {
		m := w.machines[i.ID]
		if m == nil || m.forgotten || m.Provisioner != i.Provisioner || m.LaunchID != i.LaunchID {
			return fmt.Errorf("tag %s: it is nobody's", i.ID)
		}
		m.untagged = false
		return nil
	})
}

// Terminate gives machines back.
func (c *Cloud) Terminate(ctx context.Context, ids []string) ([]string, error) {
	var gone []string
	var errs []error
	err := c.do(ctx, "Terminate", func(w *world) error {
		for _, id := range ids {
			if m := w.machines[id]; m != nil && m.untagged && m.State != offer.StateGone {
				errs = append(errs, fmt.Errorf("terminate %s: it does not have the tags of the cluster", id))
				continue
			}
			if m := w.machines[id]; m != nil && m.visible() {
				w.audit.terminated(w, m)
				w.terminate(id)
			}
			gone = append(gone, id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gone, errors.Join(errs...)
}

// terminate shuts a machine down, which takes a while.
func (w *world) terminate(id string) {
	m := w.machines[id]
	if m == nil || m.State == offer.StateGone || m.State == offer.StateStopping {
		return
	}
	m.State = offer.StateStopping
	if w.options.ShutdownTime == 0 {
		w.stopMachine(m)
		return
	}
	time.AfterFunc(w.options.ShutdownTime, func() { w.edit(func() { w.stopMachine(m) }) })
}

// stopMachine is the end of a machine and of its kubelet.
func (w *world) stopMachine(m *machine) {
	m.State, m.up, m.goneAt = offer.StateGone, false, time.Now()
	time.AfterFunc(goneVisible, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.machines, m.ID)
		w.past = append(w.past, m)
	})
	if n := w.nodes[m.node]; n != nil && n.Spec.ProviderID == m.ProviderID {
		kubelet.SetReady(n, corev1.ConditionFalse, "KubeletStopped", w.now())
		w.changed()
	}
}

// Learn notes what the kubelets of a type have.
func (c *Cloud) Learn(o offer.Observed) {
	if c.Dead() {
		return
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.world.stock.Learn(o)
}

// Learnt lists the memory of the types that were learnt, sorted.
func (c *Cloud) Learnt() []offer.Learnt {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return c.world.stock.Learnt()
}

// Forget removes the launch templates of a Provisioner.
func (c *Cloud) Forget(ctx context.Context, provisioner string) error {
	return c.do(ctx, "Forget", func(w *world) error {
		w.forgotten[provisioner]++
		delete(w.launchTemplates, provisioner)
		return nil
	})
}

// Sweep removes the launch templates that no machine uses, and counts how often it
// was asked.
func (c *Cloud) Sweep(ctx context.Context) error {
	return c.do(ctx, "Sweep", func(w *world) error {
		w.sweeps++
		maps.DeleteFunc(w.launchTemplates, func(provisioner string, _ bool) bool { return !w.hasMachines(provisioner) })
		return nil
	})
}

func (w *world) hasMachines(provisioner string) bool {
	for _, m := range w.machines {
		if m.Provisioner == provisioner && m.State != offer.StateGone {
			return true
		}
	}
	return false
}
