package offer

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Columns that a table must have; all others may be missing.
var requiredColumns = []string{"name", "vcpus", "memory_mib", "arch"}

// architectures are EC2's names of them, and how Kubernetes calls the first of x86.
var architectures = []string{"amd64", "arm64", "arm64_mac", "i386", "x86_64", "x86_64_mac"}

// Prefixes of the columns that exist once per region, written with underscores.
const (
	pricePrefix   = "usd_"
	zonesPrefix   = "zones_"
	savingsPrefix = "spot_savings_pct_"
)

func readCSV(r io.Reader) (*Catalogue, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return nil, err
	}
	t, err := newTable(header)
	if err != nil {
		return nil, err
	}
	var hardware []Hardware
	for {
		record, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		row := &row{table: t, fields: record, line: line}
		h := row.hardware()
		row.sales(&h)
		if row.err != nil {
			return nil, row.err
		}
		hardware = append(hardware, h)
	}
	return checked(NewCatalogue("file", time.Time{}, hardware, t.regions))
}

// table is the header of a CSV catalogue and the regions that it fills.
type table struct {
	columns map[string]int
	regions map[string]*Region
	// suffixes maps the regions' columns (us_east_1) to their names (us-east-1).
	suffixes map[string]string
	// savings is the column of spot savings by region; a region without one of its
	// own is taken to save what the first one in order does.
	savings map[string]string
}

func newTable(header []string) (*table, error) {
	t := &table{
		columns:  make(map[string]int, len(header)),
		regions:  map[string]*Region{},
		suffixes: map[string]string{},
		savings:  map[string]string{},
	}
	var savings []string
	for i, column := range header {
		column = strings.TrimSpace(column)
		if first, twice := t.columns[column]; twice {
			return nil, fmt.Errorf("line 1: column %d has the name %q, as column %d has; rename one of the two", i+1, column, first+1)
		}
		t.columns[column] = i
		if suffix, ok := strings.CutPrefix(column, pricePrefix); ok {
			name := strings.ReplaceAll(suffix, "_", "-")
			t.suffixes[suffix] = name
			t.regions[name] = &Region{ZoneIDs: map[string]string{}, Sales: map[string]Sale{}}
		}
		if strings.HasPrefix(column, savingsPrefix) {
			savings = append(savings, column)
		}
	}
	for _, column := range requiredColumns {
		if _, ok := t.columns[column]; !ok {
			return nil, fmt.Errorf("line 1: there is no column %q; %s", column, forms)
		}
	}
	slices.Sort(savings)
	for suffix := range t.suffixes {
		if own := savingsPrefix + suffix; slices.Contains(savings, own) {
			t.savings[suffix] = own
		} else if len(savings) > 0 {
			t.savings[suffix] = savings[0]
		}
	}
	return t, nil
}

// row reads the fields of one line and keeps the first error.
type row struct {
	*table
	fields []string
	line   int
	err    error
}

func (r *row) text(column string) string {
	i, ok := r.columns[column]
	if !ok {
		return ""
	}
	return strings.Clone(strings.TrimSpace(r.fields[i])) // the record's memory is reused
}

func (r *row) fail(column, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d, column %s: %q is not %s", r.line, column, value, want)
	}
}

func (r *row) number(column string) int64 {
	s := r.text(column)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > most {
		r.fail(column, s, "a whole number")
	}
	return n
}

func (r *row) positive(column string) int64 {
	n := r.number(column)
	if n <= 0 {
		r.fail(column, r.text(column), "a positive whole number")
	}
	return n
}

func (r *row) bool(column string) bool {
	s := r.text(column)
	if s == "" {
		return false
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		r.fail(column, s, "true or false")
	}
	return b
}

func (r *row) price(column string) Price {
	s := r.text(column)
	if s == "" {
		return 0
	}
	p, err := ParsePrice(s)
	if err != nil {
		r.fail(column, s, "a price in dollars per hour")
	}
	return p
}

func (r *row) hardware() Hardware {
	name := r.text("name")
	if name == "" {
		r.fail("name", name, "an instance type")
	}
	family, category, generation, size := SplitName(name)
	h := Hardware{
		Name: name, Family: family, Category: category, Generation: generation, Size: size,
		VCPUs:               r.positive("vcpus"),
		MemoryMiB:           r.positive("memory_mib"),
		Arch:                r.arch(),
		CPUManufacturer:     r.text("cpu_manufacturer"),
		Hypervisor:          r.text("hypervisor"),
		BareMetal:           r.bool("bare_metal"),
		Burstable:           r.bool("burstable"),
		GPU:                 r.accelerator("gpu"),
		Accelerator:         r.accelerator("accelerator"),
		LocalNVMeGB:         r.number("local_nvme_gb"),
		NetworkMbps:         r.number("network_mbps"),
		EBSMbps:             r.number("ebs_mbps"),
		EncryptionInTransit: r.bool("encryption_in_transit"),
		ENIs:                r.number("eni_max"),
		DefaultCardENIs:     r.number("eni_max_default_card"),
		IPv4PerENI:          r.number("ipv4_per_eni"),
		BranchInterfaces:    r.number("branch_interfaces"),
		EFAs:                r.number("efa_max"),
	}
	for class := range strings.SplitSeq(r.usageClasses(), "/") {
		h.AddUsageClass(class)
	}
	return h
}

// usageClasses of a table that has no such column: what has a price is sold.
func (r *row) usageClasses() string {
	if _, ok := r.columns["usage_classes"]; !ok {
		return api.CapacityOnDemand + "/" + api.CapacitySpot
	}
	return r.text("usage_classes")
}

func (r *row) arch() string {
	s := r.text("arch")
	for name := range strings.SplitSeq(s, "/") {
		if !slices.Contains(architectures, name) {
			r.fail("arch", s, "an architecture: they are "+strings.Join(architectures, ", "))
		}
	}
	return KubernetesArch(strings.Split(s, "/")...)
}

func (r *row) accelerator(prefix string) *Accelerator {
	name := r.text(prefix + "_name")
	if name == "" {
		return nil
	}
	return &Accelerator{
		Name:         name,
		Manufacturer: r.text(prefix + "_manufacturer"),
		Count:        r.number(prefix + "_count"),
		MemoryMiB:    r.number(prefix + "_memory_mib"),
	}
}

func (r *row) sales(h *Hardware) {
	estimates := strings.Split(r.text("price_is_estimate"), ";")
	for suffix, name := range r.suffixes {
		letters := r.text(zonesPrefix + suffix)
		if letters == "" {
			continue
		}
		sale := Sale{
			OnDemand: r.price(pricePrefix + suffix),
			Estimate: slices.Contains(estimates, name),
		}
		region := r.regions[name]
		for _, letter := range letters {
			if letter < 'a' || letter > 'z' {
				r.fail(zonesPrefix+suffix, letters, "the letters of the zones, such as abc")
			}
			zone := name + string(letter)
			region.ZoneIDs[zone] = ""
			sale.Zones = append(sale.Zones, zone)
		}
		slices.Sort(sale.Zones)
		if spot := r.spotPrice(suffix, sale.OnDemand); spot > 0 && h.sold(api.CapacitySpot) {
			sale.Spot = make(map[string]Price, len(sale.Zones))
			for _, zone := range sale.Zones {
				sale.Spot[zone] = spot
			}
		}
		region.Sales[h.Name] = sale
	}
}

// spotPrice is the on-demand price less the usual saving; 0 where that is not known.
func (r *row) spotPrice(suffix string, onDemand Price) Price {
	column, ok := r.savings[suffix]
	if !ok || r.text(column) == "" {
		return 0
	}
	percent := r.number(column)
	if percent > 100 {
		r.fail(column, r.text(column), "a percentage")
	}
	return Price((int64(onDemand)*(100-percent) + 50) / 100)
}

// ParsePrice reads an amount in dollars per hour, rounded to a micro-dollar.
func ParsePrice(s string) (Price, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1e9 {
		return 0, fmt.Errorf("parse price %q: not an amount of dollars", s)
	}
	return Price(math.Round(f * 1e6)), nil
}
