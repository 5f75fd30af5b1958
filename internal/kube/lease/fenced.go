package lease

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
)

// fencedLock opens a fence while this process holds the lease, and closes it when another process
// does.
type fencedLock struct {
	resourcelock.Interface
	fence *fence.Fence
	fresh time.Duration // how long the fence stays open after a renewal
	lost  func(holder string)
	held  bool // this process has held the lease
}

// Get reads the lease. If another process has taken it from this one, it closes the fence.
func (l *fencedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.held && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.fence.Close(record.HolderIdentity + " holds the lease")
		l.lost(record.HolderIdentity)
	}
	return record, raw, err
}

// Create creates the lease, held by this process.
func (l *fencedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update takes, renews or releases the lease.
func (l *fencedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *fencedLock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if record.HolderIdentity != l.Identity() {
		l.fence.Close("it releases the lease")
	}
	asked := l.fence.Now()
	if err := write(ctx, record); err != nil {
		return err
	}
	l.held = true
	l.fence.Renewed(asked, l.fresh)
	return nil
}
