package workload

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Fewest and most pods of a tiny world, and about how many instance types it has.
const fewestOfTiny, mostOfTiny, typesOfTiny = 3, 7, 40.0

// Tiny is a world whose best plan can be found by trying all: few pods and nodes, no
// weights, devices or preferences. Prices differ by zone, and not each zone sells each
// type.
func Tiny(seed uint64) *Workload {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 4321)), Workload: &Workload{}, teams: []string{"api", "web"}}
	n := fewestOfTiny + w.IntN(mostOfTiny-fewestOfTiny+1)
	w.catalogue()
	w.Types = slices.DeleteFunc(w.Types, func(t offer.InstanceType) bool { return !general(&t) })
	few := typesOfTiny / float64(len(w.Types))
	w.Types = slices.DeleteFunc(w.Types, func(offer.InstanceType) bool { return !w.chance(few) })
	for i := range w.Types {
		w.differByZone(&w.Types[i])
	}
	w.Types = slices.DeleteFunc(w.Types, func(t offer.InstanceType) bool { return len(t.Offerings) == 0 })
	w.pools()
	for _, p := range w.Provisioners {
		p.Spec.Weight = nil
	}
	w.daemons()
	for len(w.Pods) < n {
		w.fewPods(n - len(w.Pods))
	}
	if w.chance(0.5) {
		w.nodes(1 + w.IntN(3))
	}
	w.limit()
	return w.Workload
}

// differByZone takes the type out of some zones, and changes its spot prices by up to a half.
func (w *world) differByZone(t *offer.InstanceType) {
	without := map[string]bool{}
	for _, zone := range zones {
		without[zone] = w.chance(0.2)
	}
	t.Offerings = slices.DeleteFunc(t.Offerings, func(o offer.Offering) bool { return without[o.Zone] })
	for i := range t.Offerings {
		if o := &t.Offerings[i]; o.CapacityType == api.CapacitySpot {
			o.Price = o.Price * offer.Price(50+w.IntN(101)) / 100
		}
	}
}

// fewPods adds one to four equal pods, which have no preferences.
func (w *world) fewPods(atMost int) {
	s, options := w.template(2)
	for range min(atMost, 1+w.IntN(4)) {
		w.add(s, append(options, withoutPreferences)...)
	}
}

func withoutPreferences(p *corev1.Pod) {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	}
}
