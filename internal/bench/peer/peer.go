// Package peer plans a workload with the scheduler of the published module
// sigs.k8s.io/karpenter, unchanged and with one worker, which is its default in
// production.
package peer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
)

// workers is the number of candidates that it looks at in parallel.
const workers = 1

// Task is a workload in the peer's terms. It serves one Solve: the scheduler
// changes pods whose preferences it gives up.
type Task struct {
	pools   []*v1.NodePool
	types   []*cloudprovider.InstanceType
	pods    []*corev1.Pod
	daemons []*corev1.Pod
	index   map[types.UID]int
}

// NewTask translates a workload. Existing nodes are not supported.
func NewTask(w *workload.Workload) (*Task, error) {
	if len(w.Nodes) > 0 {
		return nil, fmt.Errorf("translate a workload with %d nodes: only new machines can be compared", len(w.Nodes))
	}
	t := &Task{types: InstanceTypes(w.Types), index: map[types.UID]int{}}
	for _, p := range w.Pools() {
		t.pools = append(t.pools, Pool(p))
	}
	slices.SortStableFunc(t.pools, func(a, b *v1.NodePool) int {
		return cmp.Compare(ptr.Deref(b.Spec.Weight, 0), ptr.Deref(a.Spec.Weight, 0))
	})
	for i, p := range w.Pods {
		t.pods = append(t.pods, p.DeepCopy())
		t.index[p.UID] = i
	}
	for _, p := range w.Daemons {
		t.daemons = append(t.daemons, p.DeepCopy())
	}
	return t, nil
}

// none is a cloud that is never called: the cluster's state wants to have one.
type none struct{ cloudprovider.CloudProvider }

// Solve makes the peer's plan. No deadline is set; in production the peer cuts
// off after a minute.
func (t *Task) Solve(ctx context.Context) (scheduling.Results, error) {
	crlog.SetLogger(logging.NopLogger)
	ctx = options.ToContext(injection.WithControllerName(ctx, "provisioner"), &options.Options{
		PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict,
		CPURequests: workers * 1000, IgnoreDRARequests: true,
		BatchMaxDuration: 10 * time.Second, BatchIdleDuration: time.Second,
	})
	client := fake.NewClientBuilder().Build()
	cluster := state.NewCluster(clock.RealClock{}, client, &none{})
	byPool := map[string][]*cloudprovider.InstanceType{}
	for _, p := range t.pools {
		byPool[p.Name] = t.types
	}
	parallel := scheduling.NumConcurrentReconciles(workers)
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, t.pools, byPool, t.pods, parallel)
	if err != nil {
		return scheduling.Results{}, fmt.Errorf("build the topology: %w", err)
	}
	s := scheduling.NewScheduler(ctx, client, t.pools, cluster, nil, topology, byPool, t.daemons,
		events.NewRecorder(&record.FakeRecorder{}), clock.RealClock{}, nil, nil, parallel)
	results, err := s.Solve(ctx, t.pods)
	if err != nil {
		return scheduling.Results{}, fmt.Errorf("schedule %d pods: %w", len(t.pods), err)
	}
	return results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes), nil
}
