// Package notice acts on the cloud's notices about its machines, such as spot interruptions.
package notice

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Notices delivers what a cloud announces about machines.
type Notices interface {
	// Receive waits for notices, and returns none if none came for a while. Those
	// that are not acknowledged come again, and any may come twice.
	Receive(ctx context.Context) ([]offer.Notice, error)
	// Acknowledge ends notices by their handles.
	Acknowledge(ctx context.Context, handles ...string) error
}

// Watcher acts on notices. All fields are to be set.
type Watcher struct {
	Notices Notices
	Nodes   *nodes.Writer
	Events  *event.Recorder
	Metrics *metrics.Metrics
	Log     hclog.Logger
	// Snapshot returns the cluster with what the agent has done.
	Snapshot func() *cluster.Snapshot
	// Complete reports whether each instance of ours has its Node object, and none is being bought.
	Complete func() bool
	// Runs reports whether an instance is ours and ran when the cloud was last asked.
	Runs func(id string) bool
	// Avoid keeps the offering of a node's machine from being bought for a while.
	Avoid func(n *cluster.Node, reason string)
	// Ended is called with a node whose machine has ended: if it was not up yet, machines like it are not
	// to be bought again and again.
	Ended func(n *cluster.Node)
	// Replan is called when the pods of a node have to be planned for.
	Replan func()
}

const (
	// noticeTime bounds one wait for notices, and acknowledgeTime an acknowledgement.
	noticeTime      = time.Minute
	acknowledgeTime = 2 * time.Minute
)

// retryPause is how long the first pause after a failure lasts.
const retryPause = 2 * time.Second

// Run acts on notices until the context ends. It does not wait for the planning loop: a
// spot machine has two minutes left.
func (w *Watcher) Run(ctx context.Context) error {
	pause := retryPause
	for {
		if err := w.heed(ctx); err == nil {
			pause = retryPause
		} else if ctx.Err() == nil {
			w.Metrics.Failed("Receive")
			w.Log.Warn("could not receive notices", "error", err)
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

// usefulTime is for how long the agent acts on a notice about something that happens within
// minutes.
const usefulTime = 10 * time.Minute

// outdated reports whether a notice is too old to act on, such as after a time in which no agent ran. A comparison with
// the cloud finds the machines that have ended since, and those that run on are not to be drained all at once.
func outdated(n *offer.Notice) bool {
	return n.Kind != offer.NoticeScheduledChange && !n.At.IsZero() && time.Since(n.At) > usefulTime
}

// setAside makes those notices unrelated that are too old to act on. It says so in a warning: if the clock of the agent is
// fast, all notices seem to be old.
func (w *Watcher) setAside(notices []offer.Notice) {
	var count int
	var newest time.Time
	for i := range notices {
		n := &notices[i]
		if !outdated(n) {
			continue
		}
		if count++; n.At.After(newest) {
			newest = n.At
		}
		n.Kind, n.InstanceIDs, n.Problem = offer.NoticeUnrelated, nil, "it is from "+n.At.UTC().Format(time.RFC3339)+", and what it announced has happened or was called off"
	}
	if count > 0 {
		w.Log.Warn("ignored notices that are older than ten minutes", "notices", count, "newest", newest.UTC().Format(time.RFC3339))
	}
}

// heed receives notices and acts on them. A notice is acknowledged once its consequences are
// recorded in the cluster; until then it comes again.
func (w *Watcher) heed(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	notices, err := w.Notices.Receive(call)
	if err != nil {
		return err
	}
	w.setAside(notices)
	about := map[string][]*offer.Notice{} // by instance: what is said of one is dealt with in order
	for i := range notices {
		n := &notices[i]
		w.Metrics.Notices.WithLabelValues(string(n.Kind)).Inc()
		if n.Problem != "" {
			w.Log.Debug("ignored a notice", "kind", string(n.Kind), "problem", n.Problem)
		}
		for _, id := range n.InstanceIDs {
			about[id] = append(about[id], n)
		}
	}
	complete := w.Complete() // before the snapshot: a node that is made in between is found next time
	ours := w.ours(about)
	var mu sync.Mutex
	open := map[*offer.Notice]bool{}
	parallel.Each(parallel.NodesAtOnce, slices.Sorted(maps.Keys(about)), func(id string) {
		for _, n := range about[id] {
			var done bool
			if node := ours[id]; node != nil {
				done = w.interrupt(ctx, node, n)
			} else {
				done = complete && !w.Runs(id) // it may be ours, and get its Node object yet, or the caches are too old to show it
			}
			if !done {
				mu.Lock()
				open[n] = true
				mu.Unlock()
			}
		}
	})
	var done []string
	for i := range notices {
		if n := &notices[i]; !open[n] {
			done = append(done, n.Handle)
		}
	}
	if len(done) == 0 {
		return nil
	}
	call, cancel = context.WithTimeout(ctx, acknowledgeTime)
	defer cancel()
	if err := w.Notices.Acknowledge(call, done...); err != nil && ctx.Err() == nil {
		w.Metrics.Failed("Acknowledge")
		w.Log.Warn("could not acknowledge notices", "notices", len(done), "error", err)
	}
	return nil
}

// ours returns copies of our nodes that notices are about, by instance. There is one snapshot for all notices, because
// each would be of another state once the first nodes have been deleted.
func (w *Watcher) ours(about map[string][]*offer.Notice) map[string]*cluster.Node {
	out := map[string]*cluster.Node{}
	if len(about) == 0 {
		return out
	}
	for _, n := range w.Snapshot().Nodes {
		if id := n.InstanceID(); about[id] != nil && ours(&n) {
			out[id] = &n
		}
	}
	return out
}

// ours reports whether the agent has made or taken over a node. It may have lost its finalizer since, and
// nodes of Karpenter have the same finalizer, but no Provisioner.
func ours(n *cluster.Node) bool {
	return n.Provisioner != "" && (n.HeldBy(api.Finalizer) || n.Annotations[api.AnnotationLaunchID] != "")
}

// interrupt begins to remove a node whose machine will end or has ended. Its pods are planned
// again at once, and it is drained as far as there is time.
func (w *Watcher) interrupt(ctx context.Context, n *cluster.Node, notice *offer.Notice) bool {
	w.avoidInterrupted(n, notice)
	marked := w.markInterrupted(ctx, n, notice) // without the mark, the drain is slower
	if n.Deleting {
		return marked
	}
	why := noticeText(notice)
	if !w.Nodes.Drain(ctx, n) {
		return false
	}
	n.Deleting = true // for further notices
	reason := metrics.Interruption
	if notice.Kind == offer.NoticeStateChange && !n.Initialized {
		reason = string(decide.NeverUp)
	}
	w.Metrics.Disruptions.WithLabelValues(n.Provisioner, reason).Inc()
	w.Log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", reason, "message", why)
	w.Events.Warning(event.Node(n.Name), event.Interrupted, why)
	w.Replan()
	return marked
}

// markInterrupted lets the drain of a NodePool's node, or of one that consolidation removes, evict all pods where the
// machine ends within minutes.
func (w *Watcher) markInterrupted(ctx context.Context, n *cluster.Node, notice *offer.Notice) bool {
	later := notice.Kind == offer.NoticeRebalance || notice.Kind == offer.NoticeScheduledChange
	slow := n.OfNodePool() || n.Mark().Reason == api.ReasonConsolidation
	if later || !slow || n.Annotations[api.AnnotationInterrupted] != "" {
		return true
	}
	return w.Nodes.Patch(ctx, n, cluster.NodeChange{SetAnnotations: map[string]string{api.AnnotationInterrupted: "true"}})
}

// avoidInterrupted keeps the agent from buying again at once what EC2 is about to interrupt. If EC2 only recommends
// to move, the same type may still be the best choice: EC2 chooses among all types that are possible.
func (w *Watcher) avoidInterrupted(n *cluster.Node, notice *offer.Notice) {
	switch notice.Kind {
	case offer.NoticeSpotInterruption, offer.NoticeReservation:
		w.Avoid(n, "machine of node "+n.Name+" got an interruption notice")
	case offer.NoticeStateChange:
		if !n.Deleting { // it may be the agent that has ended it
			w.Ended(n)
		}
	}
}

// noticeText is what an event says.
func noticeText(n *offer.Notice) string {
	switch n.Kind {
	case offer.NoticeSpotInterruption:
		return "EC2 will interrupt the spot instance within two minutes"
	case offer.NoticeRebalance:
		return "the spot instance is at an elevated risk of interruption"
	case offer.NoticeScheduledChange:
		return "AWS has scheduled maintenance of the instance"
	case offer.NoticeReservation:
		return "the capacity reservation of the instance is being reclaimed by its owner"
	case offer.NoticeStateChange:
		return "the instance is " + n.State
	}
	return fmt.Sprintf("the cloud has announced: %s", strings.ReplaceAll(string(n.Kind), "_", " "))
}
