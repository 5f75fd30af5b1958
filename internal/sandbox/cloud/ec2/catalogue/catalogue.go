// Package catalogue is the instance types that EC2 sells in a region, and what they cost.
package catalogue

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Type is a row of the catalogue.
type Type struct {
	Name                string
	Arches              []string // as EC2 names them: "x86_64", "arm64", …
	cpuManufacturer     string
	hypervisor          string // empty for bare metal
	VCPUs               int32
	MemoryMiB           int64
	bareMetal           bool
	burstable           bool
	CurrentGeneration   bool
	gpu                 device
	accelerator         device
	localNVMeGB         int64
	networkMbps         int32
	ebsMbps             int32
	enis                int32 // of all network cards
	enisOfFirstCard     int32
	ipv4PerENI          int32
	EFAInterfaces       int32
	encryptionInTransit bool
	usageClasses        []string // "on-demand", "spot", …
	Zones               []string // names of the zones where it is offered
	OnDemandMicros      int64    // USD per hour × 10⁶
	spotSavings         float64  // share of the on-demand price, 0 to 1
}

// device is a GPU or another accelerator.
type device struct {
	name         string
	manufacturer string
	count        int32
	memoryMiB    int32 // of each
}

// defaultSpotSavings is taken for types of which no saving is known.
const defaultSpotSavings = 0.6

// The ways in which capacity is bought, as usage classes name them.
const (
	Spot     = "spot"
	OnDemand = "on-demand"
)

// Catalogue holds the instance types that are offered in the region.
type Catalogue struct {
	*account.Account

	types  map[string]*Type
	Sorted []*Type // by name
}

// New reads a catalogue from CSV with a header row. Without text it is empty.
func New(a *account.Account, text []byte) (*Catalogue, error) {
	c := &Catalogue{Account: a, types: map[string]*Type{}}
	if len(text) == 0 {
		return c, nil
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("no header row")
	}
	for line, values := range rows[1:] {
		r := row{header: rows[0], values: values}
		t := r.instanceType(a.Region)
		if r.err != nil {
			return nil, fmt.Errorf("line %d (%s): %w", line+2, t.Name, r.err)
		}
		if t.Name == "" {
			return nil, fmt.Errorf("line %d: no name", line+2)
		}
		if len(t.Zones) == 0 || t.OnDemandMicros == 0 {
			continue // not offered in this region
		}
		c.types[t.Name] = t
		c.Sorted = append(c.Sorted, t)
	}
	slices.SortFunc(c.Sorted, func(a, b *Type) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// ByName returns nil if there is no such type.
func (c *Catalogue) ByName(name string) *Type { return c.types[name] }

// AddTo registers the calls that the catalogue answers.
func (c *Catalogue) AddTo(s *account.Service) {
	account.AddOnAnything(s, c, (*Catalogue).describeInstanceTypes)
	account.AddOnAnything(s, c, (*Catalogue).describeInstanceTypeOfferings)
	account.AddOnAnything(s, c, (*Catalogue).describeSpotPriceHistory)
}

// row reads the cells of one line by the names of their columns and keeps the
// first error.
type row struct {
	header []string
	values []string
	err    error
}

func (r *row) instanceType(region string) *Type {
	suffix := strings.ReplaceAll(region, "-", "_")
	if !slices.Contains(r.header, "usd_"+suffix) {
		suffix = "us_east_1" // a region without figures of its own
	}
	return &Type{
		Name:                r.text("name"),
		Arches:              strings.Split(r.text("arch"), "/"),
		cpuManufacturer:     r.text("cpu_manufacturer"),
		hypervisor:          r.text("hypervisor"),
		VCPUs:               int32(r.integer("vcpus")),
		MemoryMiB:           r.integer("memory_mib"),
		bareMetal:           r.boolean("bare_metal"),
		burstable:           r.boolean("burstable"),
		CurrentGeneration:   r.boolean("current_generation"),
		gpu:                 device{name: r.text("gpu_name"), manufacturer: r.text("gpu_manufacturer"), count: int32(r.integer("gpu_count")), memoryMiB: int32(r.integer("gpu_memory_mib"))},
		accelerator:         device{name: r.text("accelerator_name"), manufacturer: r.text("accelerator_manufacturer"), count: int32(r.integer("accelerator_count"))},
		localNVMeGB:         r.integer("local_nvme_gb"),
		networkMbps:         int32(r.integer("network_mbps")),
		ebsMbps:             int32(r.integer("ebs_mbps")),
		enis:                int32(r.integer("eni_max")),
		enisOfFirstCard:     int32(r.integer("eni_max_default_card")),
		ipv4PerENI:          int32(r.integer("ipv4_per_eni")),
		EFAInterfaces:       int32(r.integer("efa_max")),
		encryptionInTransit: r.boolean("encryption_in_transit"),
		usageClasses:        strings.Split(r.text("usage_classes"), "/"),
		Zones:               offeredZones(region, r.text("zones_"+suffix)),
		OnDemandMicros:      int64(math.Round(r.decimal("usd_"+suffix) * 1e6)),
		spotSavings:         r.decimal("spot_savings_pct_us_east_1") / 100,
	}
}

// offeredZones turns letters such as "ac" into names of the region's zones.
func offeredZones(region, letters string) []string {
	var zones []string
	for _, zone := range account.ZonesOf(region) {
		if strings.Contains(letters, zone[len(zone)-1:]) {
			zones = append(zones, zone)
		}
	}
	return zones
}

func (r *row) text(column string) string {
	i := slices.Index(r.header, column)
	if i < 0 {
		r.keep(fmt.Errorf("no column %s", column))
		return ""
	}
	return r.values[i]
}

func (r *row) integer(column string) int64 {
	text := r.text(column)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.keep(fmt.Errorf("column %s: %w", column, err))
	}
	return n
}

func (r *row) decimal(column string) float64 {
	text := r.text(column)
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.keep(fmt.Errorf("column %s: %w", column, err))
	}
	return x
}

func (r *row) boolean(column string) bool { return r.text(column) == "true" }

func (r *row) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Supports reports whether the type can be bought in that way: Spot or OnDemand.
func (t *Type) Supports(usageClass string) bool {
	return slices.Contains(t.usageClasses, usageClass)
}

// OfferedIn reports whether a zone has the type.
func (t *Type) OfferedIn(zone string) bool { return slices.Contains(t.Zones, zone) }

// spotMicros returns what an hour of a spot machine costs, in millionths of a
// dollar. Prices differ a little from zone to zone, and move from hour to hour by
// at most the volatility, a share of the price.
func (t *Type) spotMicros(zone string, at time.Time, volatility float64) int64 {
	savings := t.spotSavings
	if savings <= 0 {
		savings = defaultSpotSavings
	}
	factor := (1 - savings) * (0.95 + unit(t.Name+zone)/10)
	if volatility > 0 {
		hour := strconv.FormatInt(at.Unix()/3600, 10)
		factor *= 1 + volatility*(2*unit(t.Name+zone+hour)-1)
	}
	return min(t.OnDemandMicros, int64(float64(t.OnDemandMicros)*factor/100)*100)
}

// unit is a number from 0 to 1 that depends only on the text.
func unit(text string) float64 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return float64(h.Sum32()%1000) / 1000
}

// PriceMicros returns what an hour of a machine costs now, in millionths of a
// dollar.
func (c *Catalogue) PriceMicros(t *Type, zone, capacityType string) int64 {
	if capacityType != Spot {
		return t.OnDemandMicros
	}
	return t.spotMicros(zone, c.Now(), c.Behaves.SpotVolatility)
}
