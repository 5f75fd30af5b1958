package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// ErrLost means that the lease was lost and another process may be leading.
var ErrLost = errors.New("the leader election lease was lost")

// The times of leader election, which are client-go's defaults. A leader that could not renew the
// lease for renewDeadline gives up. Others may take over only after leaseDuration.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// Options of leader election.
type Options struct {
	Namespace string // of the Lease
	Name      string // of the Lease
	// Identity is unique among the processes, such as the pod's name.
	Identity string
	// Duration is how long after its last renewal a leader counts as alive. Default: 15
	// seconds.
	Duration time.Duration
	// Lost, if set, is called when this leader finds that another process holds the lease.
	// The context of run has ended by then.
	Lost func(holder string)
	// Waiting, if set, is called after each failure to reach the API server, with growing
	// pauses in between.
	Waiting func(err error)
	// Fence is open while the lease is held.
	Fence *fence.Fence
}

// Lead waits for the lease and then calls run once. The context of run ends when ctx ends or the
// lease is lost. When ctx ends, Lead keeps the lease until run has returned, so that the next
// leader does not start before, and then releases it. Lead returns ErrLost if the lease was lost,
// and ErrRival if another process leads with a lease of the same name in another namespace.
func Lead(ctx context.Context, client kubernetes.Interface, o Options, run func(context.Context)) error {
	e := &election{o, client}
	refused := e.refuseRivals(ctx)
	var lost error
	if refused == nil {
		lost = e.elect(ctx, func(ctx context.Context) {
			if refused = e.refuseRivals(ctx); refused == nil {
				run(ctx)
			}
		})
	}
	if ctx.Err() != nil {
		refused = nil // the check was cut short
	}
	return errors.Join(lost, refused)
}

// election takes part in one leader election.
type election struct {
	Options
	client kubernetes.Interface
}

// ErrRival means that an agent in another namespace leads.
var ErrRival = errors.New("another installation of the agent leads in this cluster")

// refuseRivals returns ErrRival if a process leads with a lease of the same name in another
// namespace.
//
// Lead calls it before the election, so that it does not disturb a leader elsewhere, and again
// with the lease held: of two processes that do so at the same time, at least the one that reads
// last sees the other.
func (e *election) refuseRivals(ctx context.Context) error {
	w := NewWatch(e.client, e.Name)
	w.own = e.Namespace
	if err := e.reach(ctx, w); err != nil {
		return err
	}
	rival, err := w.await(ctx)
	if err != nil || rival == (heldLease{}) {
		return err
	}
	return fmt.Errorf("%w: %s holds the lease %s. Both would act on the same Provisioners and nodes: remove one of the installations",
		ErrRival, rival.holder, rival.lease)
}

// reach reads the Leases for the first time. It waits for the API server if that does not respond
// yet.
func (e *election) reach(ctx context.Context, w *Watch) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 30 * time.Second}
	for {
		err := w.Poll(ctx)
		var answer apierrors.APIStatus
		if err == nil || errors.As(err, &answer) && !call.Passing(err) {
			return err
		}
		if e.Waiting != nil && ctx.Err() == nil {
			e.Waiting(err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(backoff.Step()):
		}
	}
}

// elect runs the leader election; see Lead.
func (e *election) elect(ctx context.Context, run func(context.Context)) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	t := &term{ctx: ctx, stop: stop, run: run, lost: e.Lost}
	elector, err := leaderelection.NewLeaderElector(e.config(t))
	if err != nil {
		return fmt.Errorf("prepare leader election by lease %s/%s: %w", e.Namespace, e.Name, err)
	}
	defer context.AfterFunc(ctx, t.abandon)()
	elector.Run(electing)
	t.close()
	if ctx.Err() == nil && !t.finished {
		return fmt.Errorf("lead by lease %s/%s: %w", e.Namespace, e.Name, ErrLost)
	}
	return nil
}

func (e *election) config(t *term) leaderelection.LeaderElectionConfig {
	scale := 1.0
	if e.Duration > 0 {
		scale = float64(e.Duration) / float64(leaseDuration)
	}
	scaled := func(d time.Duration) time.Duration { return time.Duration(scale * float64(d)) }
	return leaderelection.LeaderElectionConfig{
		Name: e.Name,
		Lock: &fencedLock{
			Interface: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
				Client:     e.client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
			},
			fence: e.Fence,
			fresh: scaled(renewDeadline),
			lost:  t.usurped,
		},
		LeaseDuration:   scaled(leaseDuration),
		RenewDeadline:   scaled(renewDeadline),
		RetryPeriod:     scaled(retryPeriod),
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: t.lead,
			OnStoppedLeading: func() {},
		},
	}
}

// term is the time of this process as leader.
type term struct {
	ctx  context.Context // of the caller
	stop func()          // ends the election, which releases the lease
	run  func(context.Context)
	lost func(holder string) // may be nil

	mu       sync.Mutex
	leading  bool
	closed   bool
	finished bool // run returned while the lease was held
	running  sync.WaitGroup
}

func (t *term) lead(leading context.Context) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.leading = true
	t.running.Add(1)
	t.mu.Unlock()
	defer t.running.Done()

	ctx, cancel := context.WithCancel(leading)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	t.run(ctx)

	t.mu.Lock()
	t.finished = leading.Err() == nil
	t.mu.Unlock()
	t.stop()
}

// abandon ends the election if this process does not lead. A leader finishes first.
func (t *term) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leading {
		t.stop()
	}
}

// usurped ends the term because another process holds the lease.
func (t *term) usurped(holder string) {
	t.stop()
	if t.lost != nil {
		t.lost(holder)
	}
}

// close prevents run from starting, or waits until it has returned.
func (t *term) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}
