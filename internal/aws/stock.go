package aws

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How often the stock is looked at again.
const (
	hardwareDue     = 12 * time.Hour
	unknownDue      = 10 * time.Minute // where something was asked for that is not known
	spotPricesDue   = time.Hour
	onDemandDue     = 12 * time.Hour
	refreshDeadline = 5 * time.Minute
)

// stock is the catalogue of the region: what EC2 says there is, at the prices
// that are known. The first look waits; later ones happen in the background
// while the previous catalogue is served.
type stock struct {
	ec2       *ec2Client
	prices    *priceList // nil: the embedded table only
	region    string
	now       func() time.Time
	mu        sync.Mutex // guards everything below
	first     *firstLook // nil: none is on its way
	hardware  snapshot[inventory]
	spot      snapshot[spotPrices]
	onDemand  snapshot[map[string]offer.Price]
	catalogue *offer.Catalogue // of the snapshots; nil: to be put together
}

// inventory is which instance types there are, and where.
type inventory struct {
	hardware []offer.Hardware
	zones    map[string][]string // by instance type, sorted
	zoneIDs  map[string]string   // by zone
}

// spotPrices are by instance type and zone.
type spotPrices map[string]map[string]offer.Price

// snapshot is one part of the stock and when it was looked at.
type snapshot[T any] struct {
	value T
	at    time.Time // zero: never
	tried time.Time
	err   error // why the last look failed
	busy  bool  // a background look is on its way
}

func newStock(client *ec2Client, prices *priceList, region string, o Options) *stock {
	s := &stock{ec2: client, prices: prices, region: region, now: o.Now}
	if o.NoPricing {
		s.prices = nil
	}
	return s
}

// get returns the catalogue. It is a new one whenever something in it changed. If
// the instance types that are asked for are not in it, it is looked at again
// sooner: they may be new.
func (s *stock) get(ctx context.Context, instanceTypes ...string) (*offer.Catalogue, error) {
	if err := s.awaitFirstLook(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	due := hardwareDue
	if slices.ContainsFunc(instanceTypes, s.lacksLocked) {
		due = unknownDue
	}
	refreshLocked(ctx, s, &s.hardware, due, s.lookAtHardware)
	refreshLocked(ctx, s, &s.spot, spotPricesDue, s.lookAtSpotPrices)
	if s.prices != nil {
		refreshLocked(ctx, s, &s.onDemand, onDemandDue, s.prices.get)
	}
	if s.catalogue == nil {
		s.catalogue = s.assemble()
	}
	return s.catalogue, nil
}

// estimate is why on-demand prices are not the published ones; empty if they are.
func (s *stock) estimate() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.prices == nil:
		return "the price list is not to be asked"
	case !s.onDemand.at.IsZero():
		return ""
	case s.onDemand.err != nil:
		return s.onDemand.err.Error()
	}
	return "the price list has not been read yet"
}

// lacksLocked reports whether an instance type is not sold anywhere in the region,
// as far as is known.
func (s *stock) lacksLocked(instanceType string) bool {
	return len(s.hardware.value.zones[instanceType]) == 0
}

// firstLook is the look at everything without which nothing can be bought.
type firstLook struct {
	done chan struct{} // closed when it is over
	err  error
}

// awaitFirstLook waits until the stock is known. The look goes on when a caller
// gives up: where EC2 throttles, it takes longer than they wait.
func (s *stock) awaitFirstLook(ctx context.Context) error {
	s.mu.Lock()
	known, look := !s.hardware.at.IsZero(), s.first
	if !known && look == nil {
		look = &firstLook{done: make(chan struct{})}
		s.first = look
		go s.lookFirst(context.WithoutCancel(ctx), look)
	}
	s.mu.Unlock()
	if known {
		return nil
	}
	select {
	case <-look.done:
		return look.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the catalogue of instance types: %w", ctx.Err())
	}
}

func (s *stock) lookFirst(ctx context.Context, look *firstLook) {
	ctx, cancel := context.WithTimeout(ctx, refreshDeadline)
	defer cancel()
	defer close(look.done)
	var hardware inventory
	var spot spotPrices
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { hardware, err = s.lookAtHardware(ctx); return err })
	group.Go(func() (err error) { spot, err = s.lookAtSpotPrices(ctx); return err })
	look.err = group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = nil
	if look.err == nil {
		s.hardware = snapshot[inventory]{value: hardware, at: s.now()}
		s.spot = snapshot[spotPrices]{value: spot, at: s.now()}
	}
}

// refreshLocked starts a look in the background if the part is due. A look that
// fails leaves the part as it was and is tried again after retryInterval.
func refreshLocked[T any](ctx context.Context, s *stock, part *snapshot[T], due time.Duration, look func(context.Context) (T, error)) {
	now := s.now()
	if part.busy || (!part.at.IsZero() && now.Sub(part.at) < due) || (!part.tried.IsZero() && now.Sub(part.tried) < retryInterval) {
		return
	}
	part.busy, part.tried = true, now
	ctx = context.WithoutCancel(ctx)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, refreshDeadline)
		defer cancel()
		value, err := look(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		part.busy, part.err = false, err
		if err == nil {
			part.value, part.at = value, s.now()
			s.catalogue = nil
		}
	}()
}

// assemble puts the parts together. A type without a known on-demand price gets
// that of the embedded table, marked as an estimate.
func (s *stock) assemble() *offer.Catalogue {
	fallback := embeddedPrices(s.region)
	region := &offer.Region{ZoneIDs: s.hardware.value.zoneIDs, Sales: map[string]offer.Sale{}}
	for _, h := range s.hardware.value.hardware {
		zones := s.hardware.value.zones[h.Name]
		if len(zones) == 0 {
			continue
		}
		sale := offer.Sale{Zones: zones, Spot: s.spot.value[h.Name]}
		if price, ok := s.onDemand.value[h.Name]; ok {
			sale.OnDemand = price
		} else if known, ok := fallback[h.Name]; ok {
			sale.OnDemand, sale.Estimate = known, true
		}
		region.Sales[h.Name] = sale
	}
	hardware := slices.Clone(s.hardware.value.hardware)
	return offer.NewCatalogue("EC2", s.hardware.at, hardware, map[string]*offer.Region{s.region: region})
}

// embeddedPrices are the on-demand prices of the embedded table. A region that it
// does not have is taken to cost what the first one in its order costs.
func embeddedPrices(region string) map[string]offer.Price {
	table := offer.Embedded()
	r, err := table.Region(region)
	if err != nil {
		r = table.Regions[fallbackRegion]
	}
	out := make(map[string]offer.Price, len(r.Sales))
	for name, sale := range r.Sales {
		if sale.OnDemand > 0 {
			out[name] = sale.OnDemand
		}
	}
	return out
}

const fallbackRegion = "us-east-1"

func (s *stock) lookAtHardware(ctx context.Context) (inventory, error) {
	out := inventory{zones: map[string][]string{}, zoneIDs: map[string]string{}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { out.hardware, err = s.describeTypes(ctx); return err })
	group.Go(func() error { return s.describeOfferings(ctx, out.zones) })
	group.Go(func() error { return s.describeZones(ctx, out.zoneIDs) })
	if err := group.Wait(); err != nil {
		return inventory{}, err
	}
	return out, nil
}

func (s *stock) describeTypes(ctx context.Context) ([]offer.Hardware, error) {
	var out []offer.Hardware
	in := &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{
		filter("supported-virtualization-type", "hvm"),
		filter("supported-usage-class", api.CapacityOnDemand, api.CapacitySpot),
		filter("processor-info.supported-architecture", "x86_64", "arm64"),
	}}
	err := eachPage(ctx, ec2.NewDescribeInstanceTypesPaginator(s.ec2, in), func(page *ec2.DescribeInstanceTypesOutput) {
		for i := range page.InstanceTypes {
			out = append(out, hardwareOf(&page.InstanceTypes[i]))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe instance types: %w", err)
	}
	return out, nil
}

func (s *stock) describeOfferings(ctx context.Context, zones map[string][]string) error {
	in := &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone}
	err := eachPage(ctx, ec2.NewDescribeInstanceTypeOfferingsPaginator(s.ec2, in), func(page *ec2.DescribeInstanceTypeOfferingsOutput) {
		for _, o := range page.InstanceTypeOfferings {
			name := string(o.InstanceType)
			zones[name] = append(zones[name], awssdk.ToString(o.Location))
		}
	})
	if err != nil {
		return fmt.Errorf("describe instance type offerings: %w", err)
	}
	for _, list := range zones {
		slices.Sort(list)
	}
	return nil
}

func (s *stock) describeZones(ctx context.Context, ids map[string]string) error {
	out, err := invoke(ctx, s.ec2.availabilityZones, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return fmt.Errorf("describe availability zones: %w", err)
	}
	for _, zone := range out.AvailabilityZones {
		ids[awssdk.ToString(zone.ZoneName)] = awssdk.ToString(zone.ZoneId)
	}
	return nil
}

// lookAtSpotPrices reads the latest price of each instance type and zone.
func (s *stock) lookAtSpotPrices(ctx context.Context) (spotPrices, error) {
	out := spotPrices{}
	latest := map[pool]time.Time{}
	now := s.now()
	in := &ec2.DescribeSpotPriceHistoryInput{
		StartTime:           &now, // only what holds now
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
	}
	err := eachPage(ctx, ec2.NewDescribeSpotPriceHistoryPaginator(s.ec2, in), func(page *ec2.DescribeSpotPriceHistoryOutput) {
		for _, h := range page.SpotPriceHistory {
			name, zone, at := string(h.InstanceType), awssdk.ToString(h.AvailabilityZone), awssdk.ToTime(h.Timestamp)
			price, err := offer.ParsePrice(awssdk.ToString(h.SpotPrice))
			key := pool{instanceType: name, zone: zone, capacityType: api.CapacitySpot}
			if err != nil || price == 0 || at.Before(latest[key]) {
				continue
			}
			latest[key] = at
			if out[name] == nil {
				out[name] = map[string]offer.Price{}
			}
			out[name][zone] = price
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe spot prices: %w", err)
	}
	return out, nil
}
