package launch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

type noEvents struct{}

func (noEvents) Event(cluster.ObjectRef, string, string, string) {}

// An order that fails each time pauses its Provisioner for longer each time, although others of the same plan
// are served, whichever comes first.
func TestServedOrdersDoNotEndThePauseOfFailedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Ports{Events: event.NewRecorder(noEvents{}), Metrics: metrics.New(), Log: hclog.NewNullLogger()})
		of := func(err error) *order {
			return &order{Order: offer.Order{Provisioner: "default", Count: 1}, by: seller(func(*api.ProvisionerSpec) {}), err: err, paused: b.pauses.Next("default")}
		}
		pause := func(orders ...*order) time.Duration {
			b.report(t.Context(), nil, orders, newOutcome())
			until, why := b.Paused("default")
			if why == "" {
				return 0
			}
			return time.Until(until)
		}
		ended := errors.New("it ended right after its launch")
		for i, orders := range [][]*order{{of(nil), of(ended)}, {of(ended), of(nil)}, {of(nil), of(ended), of(nil)}} {
			if got, want := pause(orders...), 5*time.Second<<i; got != want {
				t.Errorf("pause %d is %v, want %v", i+1, got, want)
			}
		}
		// One is answered within the turn, and the other later.
		served, failed := of(nil), of(ended)
		pause(failed)
		if got, want := pause(served), 40*time.Second; got != want {
			t.Errorf("the pause is %v after an order that was placed before it, want %v", got, want)
		}
		open := &purchase{order: of(ended)}
		b.open.leave([]*purchase{open})
		if got, want := pause(of(nil)), 40*time.Second; got != want {
			t.Errorf("the pause is %v while another order goes on, want %v", got, want)
		}
		b.open = purchases{}
		if got := pause(of(nil)); got != 0 {
			t.Errorf("the pause is %v after a report without failures, want none", got)
		}
	})
}
