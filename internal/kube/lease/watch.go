// Package lease implements leader election with Leases: it takes part in an election, and finds
// out who leads in any namespace.
package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// Watch finds out who holds the Leases of a name, in all namespaces. It recognises a live holder by
// renewals between two polls, and not by comparing clocks. It is safe for concurrent use.
type Watch struct {
	client kubernetes.Interface
	name   string
	own    string // namespace whose Lease is ignored

	mu     sync.Mutex
	polled time.Time            // when the last request that succeeded was sent: what it shows is as old
	seen   map[string]heldLease // by namespace
}

// heldLease is a Lease that somebody holds, or held until a moment ago.
type heldLease struct {
	holder, lease string // no holder: it is free, or gone
	renewed       time.Time
	lasts         time.Duration // without a renewal; of a free one, how long somebody may still take it
	since         time.Time     // when the answer came that showed this first
	lives         bool          // it was taken or renewed after the first poll
}

// String says who renews the Lease.
func (s heldLease) String() string {
	if s.holder == "" {
		return fmt.Sprintf("a replica has released the Lease %s, and another may take it", s.lease)
	}
	return fmt.Sprintf("%s renews the Lease %s", s.holder, s.lease)
}

// handover is for how long a Lease that has become free counts as held. In a rolling restart, a
// holder releases its Lease when it ends, and its successor may have to start first.
const handover = time.Minute

// NewWatch returns a Watch of the Leases of a name. It makes no request.
func NewWatch(client kubernetes.Interface, name string) *Watch {
	return &Watch{client: client, name: name}
}

// Poll reads the Leases.
func (w *Watch) Poll(ctx context.Context) error {
	// The agent's role allows it to list only Leases of this name.
	var sent time.Time
	leases, err := call.Get(ctx, func(ctx context.Context) (*coordinationv1.LeaseList, error) {
		sent = time.Now()
		return w.client.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + w.name})
	})
	if err != nil {
		return fmt.Errorf("list the Leases named %s: %w", w.name, err)
	}
	w.see(leases.Items, sent, time.Now())
	return nil
}

// see notes the Leases of an answer that came now.
func (w *Watch) see(leases []coordinationv1.Lease, sent, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]heldLease{}
	for _, l := range leases {
		if l.Namespace != w.own {
			seen[l.Namespace] = w.stateOf(&l, now)
		}
	}
	for namespace := range w.seen {
		if _, there := seen[namespace]; !there {
			gone := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
			seen[namespace] = w.stateOf(&gone, now)
		}
	}
	w.seen, w.polled = seen, sent
}

func (w *Watch) stateOf(l *coordinationv1.Lease, now time.Time) heldLease {
	was, known := w.seen[l.Namespace]
	s := heldLease{
		holder: ptr.Deref(l.Spec.HolderIdentity, ""), lease: l.Namespace + "/" + w.name, renewed: ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{}).Time,
		lasts: time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, int32(leaseDuration/time.Second))) * time.Second,
		since: now, lives: !w.polled.IsZero(),
	}
	switch {
	case s.holder == "" && known && was.holder == "":
		return was // free is free, with whatever times
	case s.holder == "" && known:
		s.lasts = handover
	case s.holder == "":
		s.lasts = leaseDuration // when it became free is not known: most probably long ago
	case was.holder == s.holder && was.renewed.Equal(s.renewed):
		s.since, s.lives = was.since, was.lives
	}
	return s
}

// outdatedAfter is how long the result of a poll is used.
const outdatedAfter = 4 * leaseDuration

// Leads says who may be leading, as in "karpenter-1 renews the Lease
// kube-system/karpenter-leader-election", and nothing if nobody is. It is not known if no poll has
// succeeded for a minute. A Lease runs out only if a poll finds that it was not renewed: while
// polls fail, its holder may renew it.
func (w *Watch) Leads(now time.Time) (holder string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.polled) > outdatedAfter {
		return "", false
	}
	for _, namespace := range slices.Sorted(maps.Keys(w.seen)) {
		if s := w.seen[namespace]; w.polled.Sub(s.since) < s.lasts {
			return s.String(), true
		}
	}
	return "", true
}

// await polls until it knows a live holder, which it returns, or that there is none. For a Lease
// with a dead holder, it waits until the Lease expires. Somebody must have polled before.
func (w *Watch) await(ctx context.Context) (heldLease, error) {
	for {
		if s, known := w.living(); known {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return heldLease{}, ctx.Err()
		case <-time.After(retryPeriod / 4):
		}
		if err := w.Poll(ctx); err != nil {
			return heldLease{}, err
		}
	}
}

// living returns a Lease with a live holder, or an empty one if there is none, and whether that is
// known yet. A free Lease is in nobody's way: whoever takes it meanwhile finds out about others.
func (w *Watch) living() (s heldLease, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known = true
	for _, namespace := range slices.Sorted(maps.Keys(w.seen)) {
		s := w.seen[namespace]
		switch {
		case s.holder == "":
		case s.lives:
			return s, true
		default:
			known = known && w.polled.Sub(s.since) > s.lasts+retryPeriod
		}
	}
	return heldLease{}, known
}

// Holder says who renews a Lease of the name in any namespace, as in "karpenter-1 renews the Lease
// kube-system/karpenter-leader-election", and nothing if nobody does. If a Lease has a holder, it
// waits until the Lease is renewed or expires.
func Holder(ctx context.Context, access *rest.Config, name string) (string, error) {
	_, w, err := look(ctx, access, name)
	if err != nil {
		return "", err
	}
	s, err := w.await(ctx)
	if err != nil || s == (heldLease{}) {
		return "", err
	}
	return s.String(), nil
}

// look polls for the first time.
func look(ctx context.Context, access *rest.Config, name string) (kubernetes.Interface, *Watch, error) {
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return nil, nil, fmt.Errorf("create a client: %w", err)
	}
	w := NewWatch(client, name)
	err = w.Poll(ctx)
	var answer apierrors.APIStatus
	if err != nil && !errors.As(err, &answer) {
		return nil, nil, fmt.Errorf("the cluster at %s does not answer; choose another with --kubeconfig and --kube-context: %w", access.Host, err)
	}
	return client, w, err
}
