package timeline

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/moves"
)

// Policy keeps the nodes of a cluster.
type Policy struct {
	Name string
	// Start runs it until the context ends. It returns what waits for its end.
	Start func(ctx context.Context, t testing.TB, w *sim.World) (wait func())
}

// Point is what was measured at a moment.
type Point struct {
	At time.Duration
	// Price of the nodes, Bound that is proven for the pods that are there, and Fresh price
	// of a plan for them without nodes, in dollars per hour.
	Price, Bound, Fresh float64
	Pods, Nodes         int
	Evictions           int
}

// Result is what a policy made of a timeline.
type Result struct {
	Timeline, Policy string
	Seed             uint64
	Scale            float64
	Points           []Point
	// Spent, Bound and Fresh are integrals over time, in dollars.
	Spent, Bound, Fresh float64
	// PodDays is how long pods were alive; Stayed is how many were at the end.
	PodDays float64
	Stayed  int
	moves.Moves
	// ByPodDay: evictions are counted for each pod and day, else for each pod that stays.
	ByPodDay bool
	// Waiting is how many pods had no node at the end.
	Waiting int
	Took    time.Duration
}

// Ratio is what was spent over the bound.
func (r *Result) Ratio() float64 { return r.Spent / r.Bound }

// Rate is how many evictions there were for each pod and day, or for each pod that stays.
func (r *Result) Rate() float64 {
	if r.ByPodDay {
		return float64(r.Evictions) / r.PodDays
	}
	return float64(r.Evictions) / float64(r.Stayed)
}

const (
	bootTime   = 58 * time.Second // and two for the launch
	launchTime = 2 * time.Second
	drainTime  = 30 * time.Second
	// schedulerTime is how long kube-scheduler takes to see a new pod and to bind it.
	schedulerTime = 20 * time.Millisecond
)

// Play plays a timeline with a policy in virtual time.
func Play(t *testing.T, line *Timeline, seed uint64, policy Policy) *Result {
	began := time.Now()
	out := &Result{Timeline: line.Name, Policy: policy.Name, Seed: seed, ByPodDay: !line.Stayed}
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(sim.Options{Types: line.Types, Scores: true, SchedulerTime: schedulerTime, BootTime: bootTime, LaunchTime: launchTime, StopTime: drainTime})
		w.DaemonSet(daemonSetName, usage())
		for _, b := range line.Budgets {
			w.Protect(b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait := policy.Start(ctx, t, w)
		p := &player{line: line, w: w, reader: w.Connect(nil), out: out, began: time.Now(), seed: seed}
		p.play()
		cancel()
		wait()
	})
	out.Took = time.Since(began)
	return out
}

// player plays changes and measures.
type player struct {
	line   *Timeline
	w      *sim.World
	reader *sim.Process
	out    *Result
	began  time.Time
	seed   uint64
	before moves.Moves
	spent  float64 // at the last sample
}

func (p *player) play() {
	changes := p.line.Changes
	p.until(&changes, p.line.Settles)
	p.before, p.spent = p.w.Moves(), p.w.Spent()
	start := p.spent
	for at := time.Duration(0); ; at += p.line.Sample {
		p.until(&changes, p.line.Settles+min(at, p.line.Length))
		p.sample(min(at, p.line.Length))
		if at >= p.line.Length {
			break
		}
	}
	p.out.Spent = p.w.Spent() - start
	p.integrate()
}

// until carries out what happens before a time, or at it, and waits for it.
func (p *player) until(changes *[]Change, at time.Duration) {
	for len(*changes) > 0 && (*changes)[0].At <= at {
		c := (*changes)[0]
		*changes = (*changes)[1:]
		time.Sleep(time.Until(p.began.Add(c.At)))
		p.change(c)
	}
	time.Sleep(time.Until(p.began.Add(at)))
}

func (p *player) change(c Change) {
	switch {
	case c.Deploy != nil:
		p.w.Deploy(*c.Deploy)
	case c.Gone != "":
		p.w.Undeploy(c.Gone)
	case c.Leave > 0:
		r := random(p.seed, 6)
		p.w.Leave(func(*corev1.Pod) bool { return r.Float64() < c.Leave })
	}
}

// sample notes what the cluster is like, and what its pods would have to cost.
func (p *player) sample(at time.Duration) {
	s := p.reader.Cluster.Snapshot()
	spent, moves := p.w.Spent(), p.w.Moves()
	point := Point{At: at, Evictions: moves.Evictions - p.before.Evictions, Price: p.w.Price()}
	p.spent = spent
	for i := range s.Nodes {
		if s.Nodes[i].Provisioner != "" {
			point.Nodes++
		}
	}
	alive := withoutNodes(s)
	p.out.Waiting = 0
	for i := range s.Pods {
		if s.Pods[i].State == cluster.PodPending {
			p.out.Waiting++
		}
	}
	point.Pods = len(alive.Pods)
	plan := decide.Decide(decide.Input{Now: time.Now(), Snapshot: alive, Prove: true, Provisioners: markets(p.line.Types), Settings: decide.DefaultSettings()})
	point.Bound, point.Fresh = plan.LowerBound.Dollars(), plan.HourlyPrice.Dollars()
	p.out.Points = append(p.out.Points, point)
}

func (p *player) integrate() {
	points := p.out.Points
	for i := 1; i < len(points); i++ {
		a, b := &points[i-1], &points[i]
		hours := (b.At - a.At).Hours()
		p.out.Bound += hours * (a.Bound + b.Bound) / 2
		p.out.Fresh += hours * (a.Fresh + b.Fresh) / 2
		p.out.PodDays += hours / 24 * float64(a.Pods+b.Pods) / 2
	}
	p.out.Stayed = points[len(points)-1].Pods
	m := p.w.Moves()
	p.out.Moves = moves.Moves{Evictions: m.Evictions - p.before.Evictions, Again: m.Again - p.before.Again, Back: m.Back - p.before.Back}
}

// withoutNodes is the cluster without nodes, with the pods that are alive waiting.
func withoutNodes(s *cluster.Snapshot) *cluster.Snapshot {
	out := *s
	out.Nodes, out.Pods, out.PodDisruptionBudgets = nil, nil, nil
	for _, p := range s.Pods {
		if p.State == cluster.PodTerminating || p.Template.BelongsToNode() {
			continue
		}
		p.NodeName, p.NominatedNode, p.State, p.Running = "", "", cluster.PodPending, false
		out.Pods = append(out.Pods, p)
	}
	return &out
}

func markets(types []offer.InstanceType) []decide.Provisioner {
	return []decide.Provisioner{{Spec: provisioner().Defaulted(), Types: types, Index: offer.NewIndex(types)}}
}

func (r *Result) String() string {
	per := "pod and day"
	if !r.ByPodDay {
		per = "pod that stays"
	}
	return fmt.Sprintf("%-10s %-34s price/bound %.3f  price/fresh %.3f  %.2f evictions per %s  again %d  back %d  (%.0f pods, %d evictions, %d waiting, %s)",
		r.Timeline, r.Policy, r.Ratio(), r.Spent/r.Fresh, r.Rate(), per, r.Again, r.Back, r.PodDays/(r.Points[len(r.Points)-1].At.Hours()/24), r.Evictions, r.Waiting, r.Took.Round(time.Second))
}
