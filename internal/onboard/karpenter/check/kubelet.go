package check

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// What can be reserved, and the signals on which the kubelet evicts.
var (
	reservable      = []string{"cpu", "memory", "ephemeral-storage", "pid"}
	evictionSignals = []string{
		"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available",
	}
)

func (r *rules) kubelet(path string, k *kinds.Kubelet) {
	number(r, path+"maxPods", k.MaxPods, 0, math.MaxInt32)
	number(r, path+"podsPerCore", k.PodsPerCore, 0, math.MaxInt32)
	number(r, path+"imageGCHighThresholdPercent", k.ImageGCHighThresholdPercent, 0, 100)
	number(r, path+"imageGCLowThresholdPercent", k.ImageGCLowThresholdPercent, 0, 100)
	if high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent; high != nil && low != nil && *high <= *low {
		r.refuse(path+"imageGCHighThresholdPercent", "must be greater than imageGCLowThresholdPercent", "")
	}
	r.reserved(path+"systemReserved", k.SystemReserved)
	r.reserved(path+"kubeReserved", k.KubeReserved)
	r.signals(path+"evictionHard", k.EvictionHard, &signalLevel)
	r.signals(path+"evictionSoft", k.EvictionSoft, &signalLevel)
	r.signals(path+"evictionSoftGracePeriod", k.EvictionSoftGracePeriod, nil)
	r.pairs(path+"evictionSoft", k.EvictionSoft, k.EvictionSoftGracePeriod, "evictionSoftGracePeriod")
	r.pairs(path+"evictionSoftGracePeriod", k.EvictionSoftGracePeriod, k.EvictionSoft, "evictionSoft")
}

func (r *rules) reserved(path string, amounts map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(amounts)) {
		at, value := path+"["+key+"]", amounts[key]
		r.key(at, key, reservable)
		r.in(quantity, at, &value)
		if strings.HasPrefix(value, "-") {
			r.refuse(at, "must not be negative", "")
		}
	}
}

func (r *rules) signals(path string, levels map[string]string, f *format) {
	for _, key := range slices.Sorted(maps.Keys(levels)) {
		at, value := path+"["+key+"]", levels[key]
		r.key(at, key, evictionSignals)
		if f != nil {
			r.in(*f, at, &value)
		}
	}
}

// key refuses a key that is not one of those allowed.
func (r *rules) key(path, key string, allowed []string) {
	if slices.Contains(allowed, key) {
		return
	}
	advice := "use one of " + strings.Join(allowed, ", ")
	if near, ok := api.Suggest(key, allowed); ok {
		advice = "did you mean " + near + "?"
	}
	r.refuse(path, "is not known", advice)
}

// pairs checks that each signal is in the other map too.
func (r *rules) pairs(path string, signals, other map[string]string, name string) {
	for _, key := range slices.Sorted(maps.Keys(signals)) {
		if _, ok := other[key]; !ok {
			r.refuse(path+"["+key+"]", "has no counterpart in "+name, "set it there too")
		}
	}
}
