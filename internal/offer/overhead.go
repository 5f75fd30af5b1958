package offer

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Defaults of the EKS images' bootstrap and of the kubelet.
const (
	reservedMemoryBase   = 255 * mebibyte
	reservedMemoryPerPod = 11 * mebibyte
	reservedStorage      = gibibyte
	evictionMemory       = "100Mi"
	evictionStorage      = "10%"

	signalMemory  = "memory.available"
	signalStorage = "nodefs.available"
)

// overhead is capacity that pods cannot have.
func (s *sizer) overhead(h *Hardware, capacity amount.List) amount.List {
	out := s.kubeReserve(h, capacity[amount.Pods])
	for name, v := range s.systemReserved {
		out[name] += v
	}
	for name, v := range s.evictionThreshold(capacity) {
		out[name] += v
	}
	delete(out, "pid") // a reservation that is not a resource of pods
	return out
}

// kubeReserve is what the kubelet and the container runtime keep.
func (s *sizer) kubeReserve(h *Hardware, pods int64) amount.List {
	switch s.AMIFamily {
	case api.FamilyAL2, api.FamilyAL2023, api.FamilyUbuntu:
		pods = tablePods(h) // their software goes by its own table, not by max-pods
	}
	out := amount.List{
		amount.CPU:              reservedCPU(h.VCPUs),
		amount.Memory:           reservedMemoryBase + reservedMemoryPerPod*pods,
		amount.EphemeralStorage: reservedStorage,
	}
	maps.Copy(out, s.kubeReserved)
	return out
}

// reservedCPU in thousandths of a core: 6 % of the first core, 1 % of the
// second, 0.5 % of the next two and 0.25 % of all others.
func reservedCPU(cores int64) int64 {
	units := int64(0) // of 0.25 % of a core, which is 2.5 thousandths
	for i := range cores {
		switch {
		case i == 0:
			units += 24
		case i == 1:
			units += 4
		case i < 4:
			units += 2
		default:
			units++
		}
	}
	return (units*5 + 1) / 2
}

// evictionThreshold is the free memory and storage that the kubelet defends: the
// larger of the hard and the soft threshold.
func (s *sizer) evictionThreshold(capacity amount.List) amount.List {
	out := make(amount.List, 2)
	for _, t := range []struct{ signal, resource, fallback string }{
		{signalMemory, amount.Memory, evictionMemory},
		{signalStorage, amount.EphemeralStorage, evictionStorage},
	} {
		hard, ok := s.Kubelet.EvictionHard[t.signal]
		if !ok {
			hard = t.fallback
		}
		keep := thresholdOf(hard, capacity[t.resource])
		if soft, ok := s.Kubelet.EvictionSoft[t.signal]; ok && !s.family.ignoresEvictionSoft {
			keep = max(keep, thresholdOf(soft, capacity[t.resource]))
		}
		out[t.resource] = keep
	}
	return out
}

// thresholdOf evaluates an eviction threshold: a quantity or a share of the
// capacity. A kubelet takes 100 % as "off". What cannot be parsed counts as
// nothing: validation has refused it before.
func thresholdOf(value string, capacity int64) int64 {
	if digits, ok := strings.CutSuffix(strings.TrimSpace(value), "%"); ok {
		percent, err := strconv.ParseFloat(digits, 64)
		if err != nil || percent <= 0 || percent >= 100 {
			return 0
		}
		return int64(math.Ceil(float64(capacity) * percent / 100))
	}
	q, err := amount.Parse(value)
	if err != nil {
		return 0
	}
	return max(q.Value(), 0)
}
