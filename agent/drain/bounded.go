package drain

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// requestsAtOnce is how many pods of all nodes are asked to stop at the same time. Each waits for its turn to be sent, and
// what else the agent asks of the API server waits behind it.
const requestsAtOnce = 256

// bounded stops pods while fewer than requestsAtOnce are being asked to. After that it fails with cluster.ErrBusy.
type bounded struct {
	pods  Pods
	slots chan struct{}
}

func newBounded(p Pods) *bounded { return &bounded{p, make(chan struct{}, requestsAtOnce)} }

func (b *bounded) Evict(ctx context.Context, pod cluster.PodKey) error {
	return b.do(func() error { return b.pods.Evict(ctx, pod) })
}

func (b *bounded) DeletePod(ctx context.Context, pod cluster.PodKey, within time.Duration) error {
	return b.do(func() error { return b.pods.DeletePod(ctx, pod, within) })
}

func (b *bounded) RemovePod(ctx context.Context, seen *cluster.Pod) error {
	return b.do(func() error { return b.pods.RemovePod(ctx, seen) })
}

func (b *bounded) do(request func() error) error {
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
		return request()
	default:
		return cluster.ErrBusy
	}
}
