package workload

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
)

// random returns the source of a generator; each has a seed of its own.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// shape draws one of the sizes that are usual together: half small services, a
// quarter heavy on CPU, a fifth heavy on memory, the rest batch jobs.
func shape(r *rand.Rand) size {
	switch u := r.Float64(); {
	case u < 0.50:
		return size{cpu: pick[int64](r, 100, 250, 500), memory: pick[int64](r, 128, 256, 512, 1024)}
	case u < 0.75:
		return size{cpu: pick[int64](r, 500, 1000, 2000), memory: pick[int64](r, 512, 1024, 2048)}
	case u < 0.95:
		return size{cpu: pick[int64](r, 250, 500, 1000), memory: pick[int64](r, 4096, 8192, 16384)}
	}
	return size{cpu: pick[int64](r, 4000, 8000), memory: pick[int64](r, 8192, 16384, 32768)}
}

// Mixed draws pods of usual shapes without constraints.
func Mixed(n int) *Workload { return mixed(n, &Workload{Types: ec2(general)}) }

// MixedUpTo32 is Mixed with types of at most 32 vCPUs.
func MixedUpTo32(n int) *Workload { return mixed(n, &Workload{Types: ec2(upTo32)}) }

// MixedEverywhere is Mixed with every type that EC2 sells.
func MixedEverywhere(n int) *Workload { return mixed(n, &Workload{Types: ec2(everything)}) }

func mixed(n int, w *Workload, options ...option) *Workload {
	r := random(1)
	for range n {
		w.add(shape(r), options...)
	}
	return w
}

// Selectors is Mixed with selectors on half of the pods: a zone on a fifth, arm64
// on a tenth, amd64 on a fifth.
func Selectors(n int) *Workload { return selectors(n, &Workload{Types: ec2(general)}) }

// SelectorsUpTo32 is Selectors with types of at most 32 vCPUs.
func SelectorsUpTo32(n int) *Workload { return selectors(n, &Workload{Types: ec2(upTo32)}) }

func selectors(n int, w *Workload) *Workload {
	r := random(2)
	for range n {
		s := shape(r)
		switch u := r.Float64(); {
		case u < 0.2:
			w.add(s, selecting(corev1.LabelTopologyZone, pick(r, zones...)))
		case u < 0.3:
			w.add(s, selecting(corev1.LabelArchStable, "arm64"))
		case u < 0.5:
			w.add(s, selecting(corev1.LabelArchStable, "amd64"))
		default:
			w.add(s)
		}
	}
	return w
}

// Uniform makes 40 deployments of equal numbers of replicas.
func Uniform(n int) *Workload { return deployments(n, 40, &Workload{Types: ec2(general)}) }

// deployments spreads n pods evenly over a number of classes of random size.
func deployments(n, classes int, w *Workload) *Workload {
	r := random(3)
	for c := range classes {
		s := size{cpu: 50 * (1 + r.Int64N(60)), memory: 64 * (1 + r.Int64N(128))}
		app := labelled("app", fmt.Sprintf("app-%04d", c))
		for range n*(c+1)/classes - n*c/classes {
			w.add(s, app)
		}
	}
	return w
}

// Unique draws nearly every pod different: the CPU log-normal around 365
// thousandths, the memory a log-normal multiple of it.
func Unique(n int) *Workload {
	w := &Workload{Types: ec2(general)}
	r := random(4)
	for range n {
		cpu := min(16_000, max(10, int64(exp(r, 5.9, 1.0))))
		memory := min(65_536, max(32, int64(float64(cpu)*exp(r, 0.9, 0.8))))
		w.add(size{cpu: cpu, memory: memory})
	}
	return w
}

// SpreadDeployments makes deployments of 25 replicas that are spread over the
// zones; those of every fifth keep off each other's machines as well.
func SpreadDeployments(n int) *Workload {
	w := &Workload{Types: ec2(general)}
	r := random(5)
	for c := range n / 25 {
		s := shape(r)
		app := fmt.Sprintf("app-%04d", c)
		options := []option{labelled("app", app), spread(corev1.LabelTopologyZone, "app", app)}
		if c%5 == 0 {
			options = append(options, apart(corev1.LabelHostname, "app", app))
		}
		for range 25 {
			w.add(s, options...)
		}
	}
	return w
}

// Daemons is Mixed on machines with a taint and DaemonSets: a log collector and a
// network plugin everywhere, one agent on arm64 only, and one that does not
// tolerate the taint and runs nowhere.
func Daemons(n int) *Workload {
	taint := corev1.Taint{Key: "team", Value: "batch", Effect: corev1.TaintEffectNoSchedule}
	w := &Workload{Types: ec2(upTo32), Taints: []corev1.Taint{taint}}
	tolerates := tolerating(taint)
	w.Daemons = []*corev1.Pod{
		newPod("log-collector", size{cpu: 100, memory: 200}, tolerates),
		newPod("network-plugin", size{cpu: 150, memory: 128}, tolerates),
		newPod("arm-agent", size{cpu: 50, memory: 64}, tolerates, selecting(corev1.LabelArchStable, "arm64")),
		newPod("elsewhere", size{cpu: 1000, memory: 1024}),
	}
	return mixed(n, w, tolerates)
}

// Shapes draws what pods of usual shapes ask for.
func Shapes(seed uint64) func() corev1.ResourceList {
	r := random(seed)
	return func() corev1.ResourceList { return shape(r).requests() }
}
