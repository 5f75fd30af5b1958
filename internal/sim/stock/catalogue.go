package stock

import (
	"fmt"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Zones are those of the simulated region.
var Zones = []string{"sim-1a", "sim-1b", "sim-1c"}

const (
	mebi = int64(1) << 20
	gibi = int64(1) << 30
)

// Catalogue returns four families in four sizes, each offered in all zones as spot
// and on demand, sorted by name.
func Catalogue() []offer.InstanceType {
	families := []struct {
		name, category, arch string
		perCore              int64 // GiB of memory
		price                offer.Price
	}{
		{"c5", "c", "amd64", 2, 42_500},
		{"m5", "m", "amd64", 4, 48_000},
		{"m6g", "m", "arm64", 4, 38_500},
		{"r5", "r", "amd64", 8, 63_000},
	}
	sizes := []struct {
		name        string
		cores, pods int64
	}{{"2xlarge", 8, 58}, {"4xlarge", 16, 234}, {"large", 2, 29}, {"xlarge", 4, 58}}
	var out []offer.InstanceType
	for _, f := range families {
		for _, s := range sizes {
			memory := f.perCore * s.cores * gibi
			t := offer.InstanceType{
				Name:     f.name + "." + s.name,
				Capacity: amount.List{amount.CPU: s.cores * 1000, amount.Memory: memory, amount.Pods: s.pods, amount.EphemeralStorage: 20 * gibi},
				Overhead: amount.List{amount.CPU: 100, amount.Memory: 500 * mebi, amount.EphemeralStorage: 2 * gibi},
			}
			t.Labels = map[string][]string{
				api.LabelInstanceType:       {t.Name},
				api.LabelArch:               {f.arch},
				api.LabelOS:                 {"linux"},
				api.LabelRegion:             {"sim-1"},
				api.LabelInstanceCategory:   {f.category},
				api.LabelInstanceGeneration: {f.name[1:2]},
				api.LabelInstanceFamily:     {f.name},
				api.LabelInstanceSize:       {s.name},
				api.LabelInstanceCPU:        {strconv.FormatInt(s.cores, 10)},
				api.LabelInstanceMemory:     {strconv.FormatInt(memory/mebi, 10)},
			}
			t.Offerings = offerings(f.price * offer.Price(s.cores))
			out = append(out, t)
		}
	}
	return out
}

// offerings sells at the price on demand, and at a third of it as spot; zones
// differ a little so that the cheapest is unique.
func offerings(price offer.Price) []offer.Offering {
	var out []offer.Offering
	for i, zone := range Zones {
		surcharge := offer.Price(i)
		out = append(out,
			offer.Offering{Zone: zone, ZoneID: fmt.Sprintf("sim1-az%d", i+1), CapacityType: api.CapacityOnDemand, Price: price + surcharge},
			offer.Offering{Zone: zone, ZoneID: fmt.Sprintf("sim1-az%d", i+1), CapacityType: api.CapacitySpot, Price: price/3 + surcharge})
	}
	return out
}
