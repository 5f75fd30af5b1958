package decide_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// usual is what a column of a machine table holds where it is left out.
var usual = map[string]string{"cpu": "1", "memory": "1Gi", "pods": "100", "disk": "100Gi", "zones": "a", "arch": "amd64", "os": "linux", "spot": "-", "price": "-", "sold-out": "-", "reserved": "-"}

// labelColumns are columns that say what label a machine has.
var labelColumns = map[string]string{
	"arch": api.LabelArch, "os": api.LabelOS, "image": api.LabelInstanceAMIID,
	"category": api.LabelInstanceCategory, "generation": api.LabelInstanceGeneration, "family": api.LabelInstanceFamily, "size": api.LabelInstanceSize,
}

var cells = regexp.MustCompile(`\s{2,}`)

// machines reads what can be bought: a line of headings and a line per instance
// type, with two spaces or more between columns. Nothing is kept from the pods,
// so that sizes and shares are round numbers. The columns:
//
//	name
//	cpu, memory, pods, disk  capacity
//	price, spot              dollars per hour on demand and as spot; "-": not sold so
//	zones                    "a,b"; sold in each at the same price
//	reserved                 capacity reservations with what is left of them: "a/cr-1=2"
//	sold-out                 offerings that cannot be had now: "a/spot,b/spot"
//	arch, os, image, ...     labels
//	nvidia.com/gpu, ...      other resources
func machines(t *testing.T, table string) []offer.InstanceType {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	head := cells.Split(strings.TrimSpace(lines[0]), -1)
	var out []offer.InstanceType
	for _, line := range lines[1:] {
		row := map[string]string{"category": "m", "generation": "6"}
		maps.Copy(row, usual)
		values := cells.Split(strings.TrimSpace(line), -1)
		if len(values) != len(head) {
			t.Fatalf("%d columns in %q, want %d", len(values), line, len(head))
		}
		for i, column := range head {
			row[column] = values[i]
		}
		out = append(out, machine(t, row))
	}
	slices.SortFunc(out, func(a, b offer.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func machine(t *testing.T, row map[string]string) offer.InstanceType {
	t.Helper()
	out := offer.InstanceType{Name: row["name"], Capacity: amount.List{}, Labels: map[string][]string{
		api.LabelInstanceType: {row["name"]}, api.LabelRegion: {"here"}, api.LabelInstanceCPU: {row["cpu"]},
	}}
	for column, value := range row {
		name := map[string]string{"cpu": amount.CPU, "memory": amount.Memory, "pods": amount.Pods, "disk": amount.EphemeralStorage}[column]
		switch {
		case labelColumns[column] != "":
			out.Labels[labelColumns[column]] = strings.Split(value, ",")
		case name == "" && !strings.Contains(column, "/") && !strings.HasPrefix(column, "hugepages-"):
			continue
		case name == "":
			name = column
		}
		if name == "" || value == "-" {
			continue
		}
		q, err := resource.ParseQuantity(value)
		if err != nil {
			t.Fatalf("machine %s, column %s: %v", row["name"], column, err)
		}
		out.Capacity[name] = amount.FromQuantity(name, q)
	}
	out.Labels[api.LabelInstanceMemory] = []string{strconv.FormatInt(out.Capacity[amount.Memory]>>20, 10)}
	for zone := range strings.SplitSeq(row["zones"], ",") {
		for capacityType, column := range map[string]string{api.CapacityOnDemand: "price", api.CapacitySpot: "spot"} {
			if row[column] == "-" {
				continue
			}
			price, err := offer.ParsePrice(row[column])
			if err != nil {
				t.Fatalf("machine %s, column %s: %v", row["name"], column, err)
			}
			o := offer.Offering{Zone: zone, CapacityType: capacityType, Price: price}
			if slices.Contains(strings.Split(row["sold-out"], ","), zone+"/"+capacityType) {
				o.Unavailable = "insufficient capacity until 12:03:00"
			}
			out.Offerings = append(out.Offerings, o)
		}
	}
	addReserved(t, &out, row)
	out.Sort()
	return out
}

// addReserved adds the offerings of capacity reservations.
func addReserved(t *testing.T, to *offer.InstanceType, row map[string]string) {
	t.Helper()
	if row["reserved"] == "-" {
		return
	}
	price, err := offer.ParsePrice(row["price"])
	if err != nil {
		t.Fatalf("machine %s, column price: %v", row["name"], err)
	}
	for one := range strings.SplitSeq(row["reserved"], ",") {
		zone, rest, _ := strings.Cut(one, "/")
		id, number, _ := strings.Cut(rest, "=")
		left, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatalf("machine %s, column reserved: %v", row["name"], err)
		}
		to.Offerings = append(to.Offerings, offer.Offering{
			Zone: zone, CapacityType: api.CapacityReserved, Reservation: id, Left: left, Price: offer.ReservedPrice(price),
		})
	}
}
