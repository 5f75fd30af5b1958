package drain

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// requestsAtOnce is how many pods of all nodes are asked to stop at the same time. Each waits for its turn to be sent, and
// what else the agent asks of the API server waits behind it.
const requestsAtOnce = 256

// limited stops pods while fewer than requestsAtOnce are being asked to. After that it fails with cluster.ErrBusy.
type limited struct {
	pods  Pods
	slots chan struct{}
}

func newLimited(p Pods) *limited { return &limited{p, make(chan struct{}, requestsAtOnce)} }

func (l *limited) Evict(ctx context.Context, pod cluster.PodKey) error {
	return l.do(func() error { return l.pods.Evict(ctx, pod) })
}

func (l *limited) DeletePod(ctx context.Context, pod cluster.PodKey, within time.Duration) error {
	return l.do(func() error { return l.pods.DeletePod(ctx, pod, within) })
}

func (l *limited) RemovePod(ctx context.Context, seen *cluster.Pod) error {
	return l.do(func() error { return l.pods.RemovePod(ctx, seen) })
}

func (l *limited) do(request func() error) error {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		return request()
	default:
		return cluster.ErrBusy
	}
}
