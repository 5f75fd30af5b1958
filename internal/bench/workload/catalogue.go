package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Region is where the machines of the EC2 catalogue are bought.
const Region = "us-east-1"

// zones are the three of the region that are used.
var zones = []string{Region + "a", Region + "b", Region + "c"}

// ec2 returns the instance types of EC2 that pass the filter, on demand.
func ec2(keep func(*offer.InstanceType) bool) []offer.InstanceType {
	return sold(func(o offer.Offering) bool { return o.CapacityType == api.CapacityOnDemand }, keep)
}

func sold(how func(offer.Offering) bool, keep func(*offer.InstanceType) bool) []offer.InstanceType {
	var out []offer.InstanceType
	for _, t := range offer.Embedded().Types(offer.Settings{Region: Region, Zones: zones}) {
		t.Offerings = slices.DeleteFunc(t.Offerings, func(o offer.Offering) bool { return !how(o) })
		if len(t.Offerings) > 0 && t.Allocatable()[amount.Memory] > 0 && keep(&t) {
			out = append(out, t)
		}
	}
	return out
}

func everything(*offer.InstanceType) bool { return true }

// general keeps virtual machines of the categories c, m and r that are newer than
// generation 2: what the peer's documentation proposes as a first pool.
func general(t *offer.InstanceType) bool { return category(t, "c", "m", "r") }

// upTo32 are general types of at most 32 vCPUs.
func upTo32(t *offer.InstanceType) bool { return general(t) && t.Capacity[amount.CPU] <= 32_000 }

// withGPUs are general types and the ones with GPUs.
func withGPUs(t *offer.InstanceType) bool { return general(t) || category(t, "g", "p") }

func category(t *offer.InstanceType, wanted ...string) bool {
	c, _ := t.Label(api.LabelInstanceCategory)
	g, _ := t.Label(api.LabelInstanceGeneration)
	generation, err := strconv.Atoi(g)
	return err == nil && generation > 2 && slices.Contains(wanted, c) && !strings.Contains(t.Name, "metal")
}

// ladder is the made-up catalogue of the peer's own benchmark: n types of i
// vCPUs, 2i GiB and 10i pods, less 100m and 10 MiB, for a tenth of a dollar for
// each vCPU and each 10^9 bytes.
func ladder(n int) []offer.InstanceType {
	var out []offer.InstanceType
	for i := range int64(n) {
		cpu, memory := i+1, (i+1)*2<<30
		name := fmt.Sprintf("ladder-%03d", i+1)
		t := offer.InstanceType{
			Name: name,
			Labels: map[string][]string{
				api.LabelInstanceType: {name}, api.LabelArch: {"amd64"}, api.LabelOS: {"linux"}, api.LabelRegion: {Region},
			},
			Capacity: amount.List{amount.CPU: cpu * 1000, amount.Memory: memory, amount.Pods: 10 * cpu},
			Overhead: amount.List{amount.CPU: 100, amount.Memory: 10 << 20},
		}
		for _, zone := range zones {
			t.Offerings = append(t.Offerings, offer.Offering{
				Zone: zone, CapacityType: api.CapacityOnDemand, Price: offer.Price(cpu*100_000 + memory/10_000),
			})
		}
		out = append(out, t)
	}
	return out
}

func zonesOf(types []offer.InstanceType) []string {
	seen := map[string]bool{}
	for i := range types {
		for _, o := range types[i].Offerings {
			seen[o.Zone] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
