package lease

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientretry "k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// candidate runs for the lease and reports what happens.
type candidate struct {
	elected chan context.Context
	finish  chan struct{}
	result  chan error
	resign  context.CancelFunc
}

func stand(t *testing.T, o Options) *candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out := &candidate{elected: make(chan context.Context, 1), finish: make(chan struct{}), result: make(chan error, 1), resign: cancel}
	go func() {
		out.result <- Lead(ctx, admin, o, func(ctx context.Context) {
			out.elected <- ctx
			<-ctx.Done()
			<-out.finish
		})
	}()
	return out
}

func leaseFor(t *testing.T, identity string) Options {
	return Options{Namespace: "default", Name: "lease-" + t.Name(), Identity: identity, Duration: 3 * time.Second, Fence: fence.New()}
}

func TestLeadHandsOverWhenItIsDone(t *testing.T) {
	o := leaseFor(t, "first")
	o.Name = "hand-over"
	first := stand(t, o)
	leading := planetest.Within(t, "the first election", first.elected)
	o.Identity = "second"
	second := stand(t, o)

	first.resign()
	planetest.Within(t, "the end of the first one's context", leading.Done())
	select {
	case <-second.elected:
		t.Fatal("the second leads while the first still finishes")
	case <-time.After(2 * o.Duration): // the lease would have run out by now
	}
	close(first.finish)
	if err := planetest.Within(t, "the first one's return", first.result); err != nil {
		t.Errorf("resigning is no error, got %v", err)
	}
	given := time.Now()
	planetest.Within(t, "the second election", second.elected)
	if took := time.Since(given); took > o.Duration {
		t.Errorf("the second waited %s for a lease that was given back", took)
	}
	second.resign()
	close(second.finish)
	if err := planetest.Within(t, "the second one's return", second.result); err != nil {
		t.Errorf("the second one returned %v", err)
	}
}

func TestLeadStopsWhenTheLeaseIsLost(t *testing.T) {
	o := leaseFor(t, "robbed")
	o.Name = "lost"
	robbed := stand(t, o)
	leading := planetest.Within(t, "the election", robbed.elected)
	steal(t, o)
	planetest.Within(t, "the end of the leader's context", leading.Done())
	close(robbed.finish)
	if err := planetest.Within(t, "the return", robbed.result); !errors.Is(err, ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
}

// steal takes a lease by force for somebody else.
func steal(t *testing.T, o Options) {
	t.Helper()
	leases := admin.CoordinationV1().Leases(o.Namespace)
	err := clientretry.RetryOnConflict(clientretry.DefaultBackoff, func() error { // the holder renews it meanwhile
		lease, err := leases.Get(t.Context(), o.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		thief, seconds, now := "thief", int32(3600), metav1.NowMicro()
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &thief, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLeadGivesUpWaiting(t *testing.T) {
	o := leaseFor(t, "holder")
	o.Name = "given-up"
	holder := stand(t, o)
	planetest.Within(t, "the election", holder.elected)
	o.Identity = "waiting"
	waiting := stand(t, o)
	waiting.resign()
	if err := planetest.Within(t, "the return", waiting.result); err != nil {
		t.Errorf("got %v, want nothing", err)
	}
	holder.resign()
	close(holder.finish)
	if err := planetest.Within(t, "the holder's return", holder.result); err != nil {
		t.Errorf("the holder returned %v", err)
	}
}

// Two installations in different namespaces would act on the same nodes: the one
// that comes second says whose lease is in its way, and gets its turn when that is
// given back.
func TestLeadRefusesARival(t *testing.T) {
	o := leaseFor(t, "incumbent")
	o.Name = "rival"
	incumbent := stand(t, o)
	leading := planetest.Within(t, "the election", incumbent.elected)
	other := o
	other.Namespace, other.Identity = namespace(t), "challenger"
	challenger := stand(t, other)
	err := planetest.Within(t, "the refusal", challenger.result)
	if !errors.Is(err, ErrRival) || !strings.Contains(err.Error(), "incumbent holds the lease default/rival") {
		t.Errorf("the challenger returned %v", err)
	}
	if leading.Err() != nil {
		t.Error("the incumbent was disturbed")
	}
	incumbent.end(t)
	challenger = stand(t, other)
	planetest.Within(t, "the challenger's election", challenger.elected)
	challenger.end(t)
}

// A lease that nobody renews is in nobody's way for longer than it runs, whatever
// the clock of its holder said.
func TestLeadOutlivesADeadRival(t *testing.T) {
	o := leaseFor(t, "heir")
	o.Name = "dead-rival"
	ahead := metav1.NewMicroTime(time.Now().Add(time.Hour))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: o.Name}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("dead"), LeaseDurationSeconds: ptr.To[int32](1), AcquireTime: &ahead, RenewTime: &ahead,
	}}
	if _, err := admin.CoordinationV1().Leases(namespace(t)).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	heir := stand(t, o)
	planetest.Within(t, "the election", heir.elected)
	heir.end(t)
}

// Of two that start at the same time, one leads at most.
func TestLeadersStartAtTheSameTime(t *testing.T) {
	o := leaseFor(t, "one")
	o.Name = "same-time"
	other := o
	other.Namespace, other.Identity = namespace(t), "two"
	led := 0
	for range 3 {
		both := []*candidate{stand(t, o), stand(t, other)}
		var leads []*candidate
		for _, c := range both {
			select {
			case <-c.elected:
				leads = append(leads, c)
			case err := <-c.result:
				if !errors.Is(err, ErrRival) {
					t.Errorf("got %v, want ErrRival", err)
				}
			case <-time.After(planetest.Patience):
				t.Fatal("neither led nor refused")
			}
		}
		if len(leads) > 1 {
			t.Fatal("both lead")
		}
		for _, c := range leads {
			c.end(t)
		}
		led += len(leads)
	}
	t.Logf("in %d of 3 rounds one led", led)
}

// end lets a leader give its lease back.
func (c *candidate) end(t *testing.T) {
	t.Helper()
	c.resign()
	close(c.finish)
	if err := planetest.Within(t, "the end of the term", c.result); err != nil {
		t.Errorf("the leader returned %v", err)
	}
}

// An agent that starts before the API server waits for it, and says so.
func TestLeadWaitsForTheAPIServer(t *testing.T) {
	var up atomic.Bool
	cfg := rest.CopyConfig(adminConfig)
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !up.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	client := kubernetes.NewForConfigOrDie(cfg)
	o := leaseFor(t, "early")
	o.Name = "early"
	told, elected := make(chan error, 100), make(chan bool, 1)
	o.Waiting = func(err error) { told <- err }
	result := make(chan error, 1)
	go func() { result <- Lead(t.Context(), client, o, func(context.Context) { elected <- true }) }()
	if err := planetest.Within(t, "the word that it waits", told); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("told of %v", err)
	}
	up.Store(true)
	planetest.Within(t, "the election", elected)
	if err := planetest.Within(t, "the return", result); err != nil {
		t.Errorf("returned %v", err)
	}
}

// A renewal that finds another holder ends the leader at once: it does not wait until
// it could not renew for so long.
func TestLeadEndsAtOnceWhenAnotherHolds(t *testing.T) {
	f := fence.New()
	o := Options{Namespace: "default", Name: "usurped", Identity: "first", Fence: f} // renews every 2 s, gives up after 10 s
	holders := make(chan string, 1)
	o.Lost = func(holder string) { holders <- holder }
	elected, ended := make(chan error, 1), make(chan time.Time, 1)
	go func() {
		_ = Lead(t.Context(), admin, o, func(ctx context.Context) {
			elected <- f.Check()
			<-ctx.Done()
			ended <- time.Now()
		})
	}()
	if err := planetest.Within(t, "the election", elected); err != nil {
		t.Errorf("the leader may not act: %v", err)
	}
	steal(t, o)
	taken := time.Now()
	if holder := planetest.Within(t, "the word that it is lost", holders); holder != "thief" {
		t.Errorf("the lease is lost to %q", holder)
	}
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), "thief holds the lease") {
		t.Errorf("the leader may still act: %v", err)
	}
	if took := planetest.Within(t, "the end of the leader's context", ended).Sub(taken); took > 2*retryPeriod {
		t.Errorf("the leader went on for %s", took)
	}
}
