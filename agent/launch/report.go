package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// report sends events about the results of orders. A Provisioner of which one failed pauses, also if others
// are served that were placed at the same time: the one that failed would be repeated at once.
func (b *Buyer) report(ctx context.Context, fresh *view.Verifier, all []*order, out *Outcome) {
	for _, o := range all {
		b.reportRefusals(o)
		b.exceed(o, out.nodes, time.Now())
		switch {
		case o.err == nil && o.missing > 0 && len(o.refusals) == 0:
			b.fail(o.Provisioner, fmt.Sprintf("AWS did not launch %d of %d machines, and gave no reason", o.missing, o.Count))
		case o.err == nil: // see below
		case errors.Is(o.err, cluster.ErrGone), errors.Is(o.err, cluster.ErrStale):
			out.Short = true // the Provisioner is being deleted
		case ctx.Err() == nil:
			out.Short = true
			b.Metrics.Failed("Launch")
			b.fail(o.Provisioner, o.err.Error())
			b.Log.Error("could not launch machines", "provisioner", o.Provisioner, "launch_id", o.LaunchID, "error", o.err)
			b.Events.Warning(event.Provisioner(o.by.Raw), event.LaunchFailed, o.err.Error())
		}
	}
	for _, o := range all {
		other := func(p *purchase) bool { return p.order.Provisioner == o.Provisioner }
		if o.err == nil && b.pauses.Next(o.Provisioner).Equal(o.paused) && !b.open.contain(other) {
			b.pauses.Succeeded(o.Provisioner)
			delete(b.broke, o.Provisioner)
		}
	}
	for _, d := range out.nodes {
		b.reportLaunch(fresh, d)
	}
}

func (b *Buyer) reportLaunch(fresh *view.Verifier, d Delivered) {
	i := d.instance
	b.Metrics.Launches.WithLabelValues(d.order.Provisioner, launchReason(d.machine), i.InstanceType, i.Zone, i.CapacityType).Inc()
	b.Log.Info("launched a node", "node", i.NodeName, "provisioner", d.order.Provisioner, "instance", i.ID,
		"instance_type", i.InstanceType, "zone", i.Zone, "capacity_type", i.CapacityType,
		"hourly_dollars", d.price.Dollars(), "launch_id", d.order.LaunchID, "pods", len(d.machine.Pods))
	b.Events.Normal(event.Node(i.NodeName), event.Launched,
		fmt.Sprintf("%s %s in %s at $%.4f per hour, %s", i.CapacityType, i.InstanceType, i.Zone, d.price.Dollars(), d.why))
	for _, key := range d.machine.Pods {
		if pod := fresh.Pods[key.UID]; pod != nil && pod.State == cluster.PodPending {
			b.Nominated(key, fmt.Sprintf("placed on the new node %s (%s %s in %s)",
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

// reportRefusals logs which offerings a cloud would not sell, and sends an event for each reason.
func (b *Buyer) reportRefusals(o *order) {
	for _, r := range o.refusals {
		c := r.Candidate
		b.Metrics.Refusals.WithLabelValues(o.Provisioner, string(r.Reason)).Inc()
		b.Log.Info("EC2 refused an offering", "provisioner", o.Provisioner, "instance_type", c.InstanceType,
			"zone", c.Zone, "capacity_type", c.CapacityType, "reason", string(r.Reason), "message", r.Message)
	}
	for _, message := range combined(o.refusals) {
		b.Events.Warning(event.Provisioner(o.by.Raw), event.LaunchFailed, message)
	}
}

// combined says in one message for each reason what was refused. An order may be refused for hundreds of offerings, and
// as many events would displace all others.
func combined(refusals []offer.Refusal) (messages []string) {
	more := map[offer.RefusalReason]int{}
	for _, r := range refusals {
		more[r.Reason]++
	}
	for _, r := range refusals {
		n, first := more[r.Reason]
		if !first {
			continue
		}
		delete(more, r.Reason)
		c, others := r.Candidate, ""
		if n > 1 {
			others = " and " + explain.Plural(n-1, "other offering")
		}
		messages = append(messages, fmt.Sprintf("%s: %s %s in %s%s: %s", r.Reason, c.CapacityType, c.InstanceType, c.Zone, others, r.Message))
	}
	return messages
}
