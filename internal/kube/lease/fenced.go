package lease

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
)

// fencedLock tells a fence what becomes of a lease.
type fencedLock struct {
	resourcelock.Interface
	fence *fence.Fence
	fresh time.Duration
	lost  func(holder string)
	held  bool // it was ours at some time
}

// Get looks whether the lease is still ours, if it was.
func (l *fencedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.held && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.fence.Close(record.HolderIdentity + " holds the lease")
		l.lost(record.HolderIdentity)
	}
	return record, raw, err
}

// Create makes the lease, as ours.
func (l *fencedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update takes the lease, renews it or gives it back.
func (l *fencedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *fencedLock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if record.HolderIdentity != l.Identity() {
		l.fence.Close("it gives the lease back")
	}
	asked := l.fence.Now()
	if err := write(ctx, record); err != nil {
		return err
	}
	l.held = true
	l.fence.Renewed(asked, l.fresh)
	return nil
}
