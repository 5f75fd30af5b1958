package cloud

import (
	"fmt"
	"net/http"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// disturb does to an instance what nobody asked for.
func (k *control) disturb(r *http.Request) (any, error) {
	acts := map[string]func(string) error{
		"interrupt-spot": k.cloud.InterruptSpot, "interrupt-reservation": k.cloud.InterruptReservation,
		"rebalance": k.cloud.RecommendRebalance, "stop": k.cloud.StopInstance, "terminate": k.cloud.TerminateInstance,
		"maintenance": func(id string) error { return k.cloud.ScheduleMaintenance(id) },
	}
	act, known := acts[r.PathValue("act")]
	if !known {
		return nil, fmt.Errorf("%q is none of %v", r.PathValue("act"), account.SortedKeys(acts))
	}
	if err := act(r.PathValue("id")); err != nil {
		return nil, err
	}
	return done()
}

func (k *control) openQueue(r *http.Request) (any, error) {
	if err := k.cloud.OpenInterruptionQueue(r.PathValue("name")); err != nil {
		return nil, err
	}
	return done()
}

func (k *control) enqueue(r *http.Request) (any, error) {
	in := struct {
		Body  string
		Times int
	}{Times: 1}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	if err := k.cloud.Enqueue(r.PathValue("name"), in.Body, in.Times); err != nil {
		return nil, err
	}
	return done()
}
