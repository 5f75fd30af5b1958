package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// noticeTime bounds one wait for notices.
const noticeTime = time.Minute

// noticeLoop acts on what the cloud tells of its machines. It does not wait for
// the planning loop: a spot machine has two minutes left.
func (a *Agent) noticeLoop(ctx context.Context) error {
	if err := a.awaitSync(ctx); err != nil {
		return err
	}
	pause := retryPause
	for {
		if err := a.heed(ctx); err == nil {
			pause = retryPause
		} else if ctx.Err() == nil {
			a.metrics.Failed("Receive")
			a.log.Warn("received no notices", "error", err)
			if err := pace.Sleep(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, noticeTime)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// heed takes what notices there are. A notice is acknowledged when what it calls
// for is recorded in the cluster; until then it comes again.
func (a *Agent) heed(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	notices, err := a.options.Notices.Receive(call)
	if err != nil {
		return err
	}
	var done []string
	for i := range notices {
		n := &notices[i]
		a.metrics.Notices.WithLabelValues(string(n.Kind)).Inc()
		if n.Problem != "" {
			a.log.Debug("passed over a notice", "kind", string(n.Kind), "problem", n.Problem)
		}
		if a.actOn(ctx, n) {
			done = append(done, n.Handle)
		}
	}
	if len(done) == 0 {
		return nil
	}
	call, cancel = context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	if err := a.options.Notices.Acknowledge(call, done...); err != nil && ctx.Err() == nil {
		a.log.Warn("left notices unacknowledged, which will come again", "notices", len(done), "error", err)
	}
	return nil
}

// actOn reports whether nothing is left to do about a notice.
func (a *Agent) actOn(ctx context.Context, notice *offer.Notice) bool {
	s := a.assumed.Apply(a.cluster.Snapshot())
	done := true
	for _, id := range notice.InstanceIDs {
		i := slices.IndexFunc(s.Nodes, func(n cluster.Node) bool { return n.InstanceID() == id && n.HeldBy(api.Finalizer) })
		switch {
		case i >= 0:
			done = a.interrupt(ctx, &s.Nodes[i], notice) && done
		case !a.inventory.Complete():
			done = false // it may be ours, and get its Node object yet
		}
	}
	return done
}

// interrupt begins to take a node away whose machine will go or has gone. Its pods
// are planned again at once, and it is drained as far as there is time.
func (a *Agent) interrupt(ctx context.Context, n *cluster.Node, notice *offer.Notice) bool {
	if n.Deleting {
		return true
	}
	why := noticeText(notice)
	a.avoidInterrupted(n, notice)
	if !a.nodes.Delete(ctx, n.Name) {
		return false
	}
	a.metrics.Disruptions.WithLabelValues(n.Provisioner, disruptionByCloud).Inc()
	a.log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", disruptionByCloud, "message", why)
	a.events.Warning(event.Node(n.Name), event.Interrupted, why)
	a.replan.set()
	return true
}

// disruptionByCloud is the reason of a removal that the cloud has announced.
const disruptionByCloud = "interruption"

// avoidInterrupted keeps the agent from buying again what is being taken back.
func (a *Agent) avoidInterrupted(n *cluster.Node, notice *offer.Notice) {
	switch notice.Kind {
	case offer.NoticeSpotInterruption, offer.NoticeRebalance, offer.NoticeReservation:
		a.avoided.like(n, "machine of node "+n.Name+" was taken back")
	}
}

// noticeText is what an event says.
func noticeText(n *offer.Notice) string {
	switch n.Kind {
	case offer.NoticeSpotInterruption:
		return "the spot machine is taken back within two minutes"
	case offer.NoticeRebalance:
		return "the spot machine is likely to be taken back"
	case offer.NoticeScheduledChange:
		return "maintenance of the machine is planned"
	case offer.NoticeReservation:
		return "the capacity reservation of the machine is taken back"
	case offer.NoticeStateChange:
		return "the instance is " + n.State
	}
	return fmt.Sprintf("the cloud says: %s", strings.ReplaceAll(string(n.Kind), "_", " "))
}
