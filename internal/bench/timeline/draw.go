package timeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

const day = 24 * time.Hour

// upTo are the general types of EC2 with at most so many cores.
func upTo(cores int64) []offer.InstanceType {
	var out []offer.InstanceType
	for _, t := range workload.MixedUpTo32(0).Types {
		if t.Capacity[amount.CPU] <= cores*1000 {
			out = append(out, t)
		}
	}
	return out
}

func requests(r corev1.ResourceList) corev1.PodSpec {
	spec := sim.Requests("1", "1Gi")
	spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: r[corev1.ResourceCPU], corev1.ResourceMemory: r[corev1.ResourceMemory],
	}
	return spec
}

// logNormal draws around a median.
func logNormal(r *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*r.NormFloat64())
}

// deployment is a workload that breathes.
type deployment struct {
	name                    string
	spec                    corev1.PodSpec
	peak                    float64
	phase, weekend, restart float64
	// looks is when its autoscaler looks for the first time. Those of a cluster do not look at
	// the same moment.
	looks time.Duration
}

const (
	deployments      = 40
	podsPerBreathing = 75 // at the peak, on average
	noise            = 0.06
	tolerance        = 0.1 // of an autoscaler
	autoscaling      = 5 * time.Minute
)

// breathing is 40 deployments whose replicas follow the day, with weekends, noise and a
// rollout each day.
func breathing(seed uint64, size Size) *Timeline {
	t := &Timeline{
		Name: "breathing", Title: "40 deployments follow the day, with weekends and daily rollouts",
		Length: size.length(7), Settles: 4 * time.Hour, Sample: 30 * time.Minute, Types: upTo(32),
	}
	t.breathe(seed, size, func(int, *deployment, *sim.Workload) {})
	return t.sort()
}

// breathe adds the deployments, each as edited.
func (t *Timeline) breathe(seed uint64, size Size, edit func(n int, d *deployment, w *sim.Workload)) {
	r := random(seed, 1)
	shapes := workload.Shapes(seed)
	for n := range deployments {
		d := &deployment{
			name: fmt.Sprintf("web-%02d", n), spec: requests(shapes()), peak: logNormal(r, podsPerBreathing*0.8, 0.7) * size.Scale,
			phase: r.NormFloat64() * 0.05, weekend: 0.5 + 0.4*r.Float64(), restart: 8 + 10*r.Float64(),
			looks: autoscaling * time.Duration(n) / deployments,
		}
		load := sim.Workload{Name: d.name, Spec: d.spec, Replicas: max(1, int(d.peak))}
		edit(n, d, &load)
		t.follow(r, d, load)
	}
}

// follow scales a deployment as a HorizontalPodAutoscaler does by default: it ignores
// differences of up to a tenth, rounds up, and scales down only to the most that it has
// found right within five minutes.
func (t *Timeline) follow(r *rand.Rand, d *deployment, load sim.Workload) {
	has, rollout, before := 0, 0, 0
	for at := d.looks; at < t.Settles+t.Length; at += autoscaling {
		days := at.Hours() / 24
		level := 0.6 - 0.4*math.Cos(2*math.Pi*(days+d.phase))
		if int(days)%7 >= 5 {
			level *= d.weekend
		}
		needs, right := d.peak*level*(1+noise*r.NormFloat64()), has
		if math.Abs(needs-float64(has)) > tolerance*float64(has) {
			right = max(1, int(math.Ceil(needs)))
		}
		load.Replicas = max(right, min(has, before))
		before = right
		if now := int(days + 1 - d.restart/24); now > rollout && !load.Stateful {
			rollout = now
		}
		if revision := strconv.Itoa(rollout); load.Replicas != has || revision != load.Revision {
			if !load.Stateful {
				load.Revision = revision
			}
			if load.Replicas != has || !load.Stateful {
				t.deploy(at, load)
			}
			has = load.Replicas
		}
	}
}

// guarded is breathing with what keeps pods where they are.
func guarded(seed uint64, size Size) *Timeline {
	t := &Timeline{
		Name: "guarded", Title: "breathing with budgets, protections, single replicas, spread and StatefulSets",
		Length: size.length(7), Settles: 4 * time.Hour, Sample: 30 * time.Minute, Types: upTo(32),
	}
	t.breathe(seed, size, func(n int, d *deployment, w *sim.Workload) {
		if n%2 == 0 {
			w.Spec.TopologySpreadConstraints = spread(corev1.LabelTopologyZone, 1, d.name)
		}
		if n%20 == 7 {
			w.Annotations = map[string]string{api.AnnotationDoNotEvict: "true"}
		}
		if n%10 == 3 {
			w.Stateful = true
		}
		if n%3 == 0 {
			t.Budgets = append(t.Budgets, sim.Budget{Name: d.name, Selector: map[string]string{"app": d.name}, MinAvailable: max(1, int(d.peak*0.15))})
		}
	})
	r, shapes := random(seed, 2), workload.Shapes(seed+1)
	for n := range size.count(300) {
		t.deploy(time.Duration(r.Int64N(int64(time.Hour))), sim.Workload{Name: fmt.Sprintf("one-%03d", n), Replicas: 1, Spec: requests(shapes())})
	}
	return t.sort()
}

func spread(key string, skew int32, app string) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}}
}

const (
	jobsAlive                 = 400
	jobMedian                 = 20 * time.Minute
	jobSigma                  = 1.3
	shortestJob, longestJob   = time.Minute, 12 * time.Hour
	servicesAlive, serviceAll = 800, 300
)

// batch is jobs alone.
func batch(seed uint64, size Size) *Timeline {
	t := &Timeline{
		Name: "batch", Title: "jobs, from minutes to hours", Length: size.length(7), Settles: 6 * time.Hour, Sample: 30 * time.Minute, Types: upTo(32),
	}
	r, shapes := random(seed, 3), workload.JobShapes(seed)
	mean := float64(jobMedian) * math.Exp(jobSigma*jobSigma/2)
	pause := mean / (jobsAlive * size.Scale)
	n := 0
	for at := 0.0; time.Duration(at) < t.Settles+t.Length; at += pause * r.ExpFloat64() {
		lasts := time.Duration(logNormal(r, float64(jobMedian), jobSigma)).Round(time.Second)
		t.deploy(time.Duration(at).Round(time.Second), sim.Workload{
			Name: fmt.Sprintf("job-%06d", n), Replicas: 1, Spec: requests(shapes()), Job: min(max(lasts, shortestJob), longestJob),
		})
		n++
	}
	return t.sort()
}

// services is many services of which some pods are replaced within hours and most live for
// weeks.
func services(seed uint64, size Size) *Timeline {
	t := &Timeline{
		Name: "services", Title: "300 services; a third of the pods live for hours, the rest for weeks",
		Length: size.length(31), Settles: day, Sample: 2 * time.Hour, Types: upTo(32),
	}
	r, shapes := random(seed, 4), workload.Shapes(seed)
	for n := range size.count(serviceAll) {
		replicas := min(60, max(1, int(math.Exp(r.ExpFloat64()*0.8))))
		name := fmt.Sprintf("svc-%03d", n)
		spec := requests(shapes())
		if replicas > 1 {
			spec.TopologySpreadConstraints = spread(corev1.LabelHostname, int32(max(1, replicas/3)), name)
		}
		load := sim.Workload{Name: name, Replicas: replicas, Spec: spec, Lifetime: lifetimes(seed, n)}
		t.deploy(time.Duration(r.Int64N(int64(time.Hour))), load)
		for at := time.Duration(0); at < t.Settles+t.Length; at += day { // now and then a service changes its size
			if r.Float64() < 0.05 {
				load.Replicas = min(60, max(1, int(math.Round(float64(load.Replicas)*logNormal(r, 1, 0.4)))))
				t.deploy(at+time.Duration(r.Int64N(int64(day))), load)
			}
		}
	}
	return t.sort()
}

func lifetimes(seed uint64, service int) func(int) time.Duration {
	return func(n int) time.Duration {
		r := random(seed+uint64(service)*1_000_003, uint64(n)+100)
		if r.Float64() < 1.0/3 {
			return time.Duration(logNormal(r, 4*float64(time.Hour), 0.8))
		}
		return time.Duration(r.ExpFloat64() * 21 * float64(day))
	}
}

// collapse is a large cluster that three quarters of the pods leave within a minute.
func collapse(seed uint64, size Size) *Timeline {
	return shrinking(seed, size, &Timeline{
		Name: "collapse", Title: "three quarters of 10,000 pods leave within a minute", Types: upTo(16),
	}, 10_000, 0.75)
}

// fragments is a fresh plan, of which half of the pods leave.
func fragments(seed uint64, size Size) *Timeline {
	return shrinking(seed, size, &Timeline{
		Name: "fragments", Title: "half of 2,000 pods leave at random", Types: upTo(32),
	}, 2_000, 0.5)
}

func shrinking(seed uint64, size Size, t *Timeline, pods int, leave float64) *Timeline {
	t.Length, t.Settles, t.Sample, t.Stayed = size.length(1), time.Hour, 10*time.Minute, true
	r, shapes := random(seed, 5), workload.Shapes(seed)
	for n := range deployments {
		replicas := max(2, int(logNormal(r, float64(pods)/deployments*0.85, 0.5)*size.Scale))
		t.deploy(0, sim.Workload{Name: fmt.Sprintf("web-%02d", n), Replicas: replicas, Spec: requests(shapes())})
	}
	t.Changes = append(t.Changes, Change{At: t.Settles, Leave: leave})
	return t.sort()
}

// quantities states a size.
func quantities(cpu, memory int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
}
