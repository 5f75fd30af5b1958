// Package suite says what is measured: the cases, what each of them has to reach,
// and how a case is run.
package suite

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
)

// Case is a workload and what has to be reached on it.
type Case struct {
	Name string
	// Title describes it to people.
	Title    string
	Generate func(n int) *workload.Workload
	Pods     int
	// Alone leaves the peer out.
	Alone bool
	// Slow takes the peer a minute and more.
	Slow bool
	// Growth cases are of one series, whose growth is bounded on the last one.
	Growth bool
	Bars   Bars
}

// Bars are limits; a zero value is none.
type Bars struct {
	// Speed is how many times less processor time than the peer it takes.
	Speed float64
	// Gap is the price above the bound, as a share of the bound.
	Gap float64
	// MachinesOfPeer: no more machines than the peer.
	MachinesOfPeer bool
	Machines       int
	Wall           time.Duration
	// Cold bounds the first decision of a process.
	Cold time.Duration
	Peak uint64
	// Exponent e: a series grows no faster than n^e, in time and in memory.
	Exponent float64
}

const gibibyte = 1 << 30

// Cases are in the order of the report. Bars on time and speed are half of what the first edition of the
// core reached where that is less: plans search for a cheaper one for up to a second since.
var Cases = []Case{
	{Name: "diverse-1000", Title: "the peer's own diverse mix, 400 types", Generate: workload.Diverse, Pods: 1000},
	{Name: "diverse-10000", Title: "the peer's own diverse mix, 400 types", Generate: workload.Diverse, Pods: 10_000, Bars: Bars{Speed: 100}},
	{Name: "diverse-20000", Title: "the peer's own diverse mix, 400 types", Generate: workload.Diverse, Pods: 20_000, Slow: true, Bars: Bars{Speed: 200}},
	{Name: "uniform-10000", Title: "40 deployments, c/m/r types", Generate: workload.Uniform, Pods: 10_000, Bars: Bars{Speed: 1000, Gap: 0.01}},
	{Name: "mixed-1000", Title: "mixed shapes, c/m/r types", Generate: workload.Mixed, Pods: 1000, Bars: Bars{Wall: 60 * time.Millisecond, Gap: 0.015}},
	{Name: "mixed-10000", Title: "mixed shapes, c/m/r types", Generate: workload.Mixed, Pods: 10_000, Bars: Bars{Speed: 50, Gap: 0.01}},
	{Name: "mixed-32vcpu-10000", Title: "mixed shapes, types up to 32 vCPU", Generate: workload.MixedUpTo32, Pods: 10_000, Slow: true, Bars: Bars{Speed: 500, Gap: 0.01, MachinesOfPeer: true}},
	{Name: "selectors-10000", Title: "with arch and zone selectors on half", Generate: workload.Selectors, Pods: 10_000, Bars: Bars{Speed: 25, Gap: 0.015}},
	{Name: "selectors-32vcpu-10000", Title: "the same, types up to 32 vCPU", Generate: workload.SelectorsUpTo32, Pods: 10_000, Slow: true, Bars: Bars{Speed: 250, Gap: 0.015}},
	{Name: "unique-5000", Title: "nearly every pod different, c/m/r types", Generate: workload.Unique, Pods: 5000, Bars: Bars{Speed: 10, Gap: 0.01}},
	{Name: "everywhere-10000", Title: "mixed shapes, all of EC2", Generate: workload.MixedEverywhere, Pods: 10_000, Bars: Bars{Speed: 20, Gap: 0.01}},
	{Name: "prefer-apart-4000", Title: "preferred hostname anti-affinity, 400 types", Generate: workload.PreferApart, Pods: 4000, Slow: true, Bars: Bars{Speed: 500, Machines: 25}},
	{Name: "gpus-5000", Title: "GPU and CPU pods of a trace, c/m/r/g/p types", Generate: workload.GPUs, Pods: 5000, Bars: Bars{Speed: 50, Gap: 0.03}},
	{Name: "spread-5000", Title: "zone spread on all, hostname anti-affinity on a fifth", Generate: workload.SpreadDeployments, Pods: 5000, Bars: Bars{Speed: 100, Gap: 0.02}},
	{Name: "daemons-2000", Title: "mixed shapes with a taint and DaemonSets, up to 32 vCPU", Generate: workload.Daemons, Pods: 2000},
	{Name: "fleet-100000", Title: "1,000 classes onto 2,000 nodes and new ones", Generate: workload.Fleet, Pods: 100_000, Alone: true, Bars: Bars{Wall: 2 * time.Second, Peak: gibibyte, Gap: 0.01}},
	{Name: "limit-10000", Title: "mixed shapes, c/m/r types, a limit that binds nothing", Generate: workload.MixedWithLimit, Pods: 10_000, Bars: Bars{Speed: 50, Gap: 0.01}},
	{Name: "follower-10000", Title: "the diverse mix and one pod with hostname self-affinity", Generate: workload.DiverseWithFollower, Pods: 10_001, Alone: true},
	{Name: "teams-4000", Title: "40 teams with Provisioners of their own, zone spreads and priorities, over their limits", Generate: workload.Teams, Pods: 4000, Slow: true},
	{Name: "limits-3000", Title: "nearly every pod different, ten Provisioners, over their limits", Generate: workload.UniqueOverLimits, Pods: 3000, Slow: true},
	{Name: "tenants-1200", Title: "100 tenants that keep apart on nodes", Generate: workload.Tenants, Pods: 1200},
	{Name: "families-5000", Title: "selectors on family, category, arch and zone", Generate: workload.MixedSelectors, Pods: 5000, Bars: Bars{Gap: 0.015}},
	{Name: "families-600", Title: "selectors on family, category, arch and zone", Generate: workload.MixedSelectors, Pods: 600, Bars: Bars{Gap: 0.015}},
	{Name: "families-100", Title: "selectors on family, category, arch and zone", Generate: workload.MixedSelectors, Pods: 100, Bars: Bars{Gap: 0.03}},
	{Name: "gpu-trace", Title: "the common shapes of a GPU trace, each as often as there", Generate: workload.GPUTrace, Pods: 7934, Bars: Bars{Gap: 0.03}},
	{Name: "one-cold", Title: "one pod in a fresh process, all of EC2", Generate: workload.MixedEverywhere, Pods: 1, Bars: Bars{Cold: 4 * time.Millisecond, Gap: 1e-9}},
	{Name: "growth-1000", Title: "mixed shapes, all of EC2", Generate: workload.MixedEverywhere, Pods: 1000, Alone: true, Growth: true},
	{Name: "growth-3000", Title: "mixed shapes, all of EC2", Generate: workload.MixedEverywhere, Pods: 3000, Alone: true, Growth: true},
	{Name: "growth-10000", Title: "mixed shapes, all of EC2", Generate: workload.MixedEverywhere, Pods: 10_000, Alone: true, Growth: true},
	{Name: "growth-30000", Title: "mixed shapes, all of EC2", Generate: workload.MixedEverywhere, Pods: 30_000, Alone: true, Growth: true},
	{Name: "growth-100000", Title: "mixed shapes, all of EC2", Generate: workload.MixedEverywhere, Pods: 100_000, Alone: true, Growth: true, Bars: Bars{Exponent: 1.1}},
}

// Find returns a case by its name, or nil.
func Find(name string) *Case {
	for i := range Cases {
		if Cases[i].Name == name {
			return &Cases[i]
		}
	}
	return nil
}
