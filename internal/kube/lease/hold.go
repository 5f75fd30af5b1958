package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	// holdPatience is how long Hold waits for a Lease. One whose holder is dead expires before.
	holdPatience = time.Minute
	// succession is in which time a process that waits for a Lease takes it after its release: the pauses
	// between its attempts are up to 2.2 times as long as the retry period.
	succession = 3 * retryPeriod
)

// Hold works while this process holds the Lease of the name, in whatever namespace it is, so that nobody
// else leads meanwhile. Of several, it holds the one that was renewed last. Afterwards, it says who leads
// next: a process that has waited for the Lease to become free. The namespace in the options is for a Lease
// that does not exist. By default, it is kube-system.
func Hold(ctx context.Context, access *rest.Config, o Options, work func(context.Context) error) (next string, err error) {
	client, w, err := look(ctx, access, o.Name)
	if err != nil {
		return "", err
	}
	if o.Namespace == "" {
		o.Namespace = metav1.NamespaceSystem
	}
	renewed := time.Time{}
	for namespace, held := range w.seen {
		if !held.renewed.Before(renewed) {
			o.Namespace, renewed = namespace, held.renewed
		}
	}
	leading, giveUp := context.WithCancel(ctx)
	defer giveUp()
	began, worked := false, error(nil)
	waiting := time.AfterFunc(holdPatience, giveUp)
	lost := Lead(leading, client, o, func(ctx context.Context) {
		if began = waiting.Stop(); began {
			worked = work(ctx)
		}
	})
	switch {
	case lost != nil || worked != nil:
		return "", errors.Join(worked, lost)
	case ctx.Err() == nil && !began:
		return "", fmt.Errorf("the Lease %s/%s could not be acquired within %s; this needs permission to get, create and update it", o.Namespace, o.Name, holdPatience)
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(succession):
	}
	return Holder(ctx, access, o.Name)
}
