package workload

import (
	"math"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
)

func exp(r *rand.Rand, mean, deviation float64) float64 {
	return math.Exp(mean + deviation*r.NormFloat64())
}

// benchmarkSize draws one of the sizes of the peer's own benchmark.
func benchmarkSize(r *rand.Rand) size {
	return size{cpu: pick[int64](r, 100, 250, 500, 1000, 1500), memory: pick[int64](r, 100, 256, 512, 1024, 2048, 4096)}
}

// Diverse is the mix of the peer's own benchmark: a fifth each without
// constraints, spread over zones, spread over nodes, with affinity to one of
// seven groups within a zone, and with anti-affinity to each other on a node.
// What a spread counts is drawn independently of the pod's own label.
func Diverse(n int) *Workload {
	w := &Workload{Types: ladder(400)}
	r := random(6)
	letter := func() string { return pick(r, "a", "b", "c", "d", "e", "f", "g") }
	fifth := n / 5
	for range fifth {
		w.add(benchmarkSize(r), labelled("group", letter()))
	}
	for _, domain := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		for range fifth {
			w.add(benchmarkSize(r), labelled("group", letter()), spread(domain, "group", letter()))
		}
	}
	for range fifth {
		own := letter()
		w.add(benchmarkSize(r), labelled("near", own), near(corev1.LabelTopologyZone, "near", own))
	}
	for range fifth {
		w.add(benchmarkSize(r), labelled("app", "nginx"), apart(corev1.LabelHostname, "app", "nginx"))
	}
	for len(w.Pods) < n {
		w.add(benchmarkSize(r), labelled("group", letter()))
	}
	return w
}

// PreferApart are pods of one app that would rather not share a machine.
func PreferApart(n int) *Workload {
	w := &Workload{Types: ladder(400)}
	r := random(7)
	for range n {
		w.add(benchmarkSize(r), labelled("app", "nginx"), preferApart(corev1.LabelHostname, "app", "nginx"))
	}
	return w
}
