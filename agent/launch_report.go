package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// reportLaunches tells what came of the orders.
func (a *Agent) reportLaunches(ctx context.Context, fresh *verifier, all []*order, out *launched) {
	for _, o := range all {
		a.reportRefusals(o)
		a.history.exceed(o, out.nodes, time.Now())
		switch {
		case o.err == nil && o.missing > 0 && len(o.refusals) == 0:
			a.history.fail(o.Provisioner, fmt.Sprintf("%d of %d machines were not delivered, for no reason given", o.missing, o.Count))
		case o.err == nil:
			a.history.succeed(o.Provisioner)
		case errors.Is(o.err, cluster.ErrGone), errors.Is(o.err, cluster.ErrStale):
			out.short = true // the Provisioner is being deleted
		case ctx.Err() == nil:
			out.short = true
			a.metrics.Failed("Launch")
			a.history.fail(o.Provisioner, o.err.Error())
			a.log.Error("launched nothing", "provisioner", o.Provisioner, "launch_id", o.LaunchID, "error", o.err)
			a.events.Warning(event.Provisioner(o.by.raw), event.LaunchFailed, o.err.Error())
		}
	}
	for _, d := range out.nodes {
		a.reportLaunch(fresh, d)
	}
}

func (a *Agent) reportLaunch(fresh *verifier, d delivered) {
	i := d.instance
	a.ledger.scale(d.order.Provisioner)
	a.metrics.Launches.WithLabelValues(d.order.Provisioner, launchReason(d.machine), i.InstanceType, i.Zone, i.CapacityType).Inc()
	a.log.Info("launched a node", "node", i.NodeName, "provisioner", d.order.Provisioner, "instance", i.ID,
		"instance_type", i.InstanceType, "zone", i.Zone, "capacity_type", i.CapacityType,
		"hourly_dollars", d.price.Dollars(), "launch_id", d.order.LaunchID, "pods", len(d.machine.Pods))
	a.events.Normal(event.Node(i.NodeName), event.Launched,
		fmt.Sprintf("%s %s in %s at $%.4f per hour, %s", i.CapacityType, i.InstanceType, i.Zone, d.price.Dollars(), d.why))
	for _, key := range d.machine.Pods {
		if pod := fresh.pods[key.UID]; pod != nil && pod.State == cluster.PodPending {
			a.tell(key, event.Nominated, fmt.Sprintf("placed on the new node %s (%s %s in %s)",
				i.NodeName, i.CapacityType, i.InstanceType, i.Zone))
		}
	}
}

// launchReason is what a machine was launched for.
func launchReason(m *decide.Machine) string {
	if len(m.Pods) == 0 {
		return "replacement"
	}
	return "pods"
}

// reportRefusals tells which offerings a cloud would not sell.
func (a *Agent) reportRefusals(o *order) {
	for _, r := range o.refusals {
		c := r.Candidate
		a.metrics.Refusals.WithLabelValues(o.Provisioner, string(r.Reason)).Inc()
		a.log.Info("was refused an offering", "provisioner", o.Provisioner, "instance_type", c.InstanceType,
			"zone", c.Zone, "capacity_type", c.CapacityType, "reason", string(r.Reason), "message", r.Message)
		a.events.Warning(event.Provisioner(o.by.raw), event.LaunchFailed,
			fmt.Sprintf("%s: %s %s in %s: %s", r.Reason, c.CapacityType, c.InstanceType, c.Zone, r.Message))
	}
}
