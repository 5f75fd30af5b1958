// Package stock reads which instance types an AWS region sells, and at which prices.
package stock

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How often the parts of the stock are read again.
const (
	hardwareDue     = 12 * time.Hour
	unknownDue      = 10 * time.Minute // if a caller asks for an instance type that is not known
	spotPricesDue   = time.Hour
	onDemandDue     = 12 * time.Hour
	refreshDeadline = 5 * time.Minute // of one read
)

// Stock is the catalogue of a region. It is safe for concurrent use. The first caller waits
// until the catalogue has been read. Later, it is read again in the background while callers
// get the previous one.
type Stock struct {
	ec2       *client.EC2
	prices    *priceList // nil: the embedded table only
	noPrices  string     // why prices is nil
	region    string
	now       func() time.Time
	mu        sync.Mutex    // guards everything below
	first     *firstRead    // the last; nil: none yet
	again     time.Time     // when the first read may be repeated if it failed
	pause     time.Duration // that led to again
	hardware  snapshot[inventory]
	spot      snapshot[spotPrices]
	onDemand  snapshot[map[string]offer.Price]
	catalogue *offer.Catalogue // of the snapshots; nil: must be assembled
}

// inventory lists the instance types and the zones that sell them.
type inventory struct {
	hardware []offer.Hardware
	zones    map[string][]string // by instance type, sorted
	zoneIDs  map[string]string   // by zone
}

// spotPrices are by instance type and zone.
type spotPrices map[string]map[string]offer.Price

// pool is what has a spot price.
type pool struct{ instanceType, zone string }

// snapshot is one part of the stock.
type snapshot[T any] struct {
	value T
	at    time.Time     // when it was read; zero: never
	tried time.Time     // when it was last tried to read it
	err   error         // why the last try failed
	pause time.Duration // before the next try, if the last one failed
	busy  bool          // it is being read
}

// read notes how a read went that ended at a time. If it failed, the part stays as it was.
func (p *snapshot[T]) read(value T, err error, now time.Time) {
	p.err = err
	if err == nil {
		p.value, p.at, p.pause = value, now, 0
	}
}

// New returns the stock of the configuration's region. It makes no request. If priceList is
// false, the Pricing API is not used, and on-demand prices are those of the embedded table.
func New(sdk *client.EC2, cfg awssdk.Config, priceList bool, now func() time.Time) *Stock {
	s := &Stock{ec2: sdk, region: cfg.Region, noPrices: "the Pricing API is switched off", now: now}
	if priceList {
		s.prices, s.noPrices = newPriceList(cfg), "the AWS partition of "+cfg.Region+" has no Pricing API"
	}
	return s
}

// Get returns the catalogue; it is the same pointer until something has been read again. If
// one of the instance types is not in it, instance types are read again after 10 minutes
// instead of 12 hours, because it may be new.
func (s *Stock) Get(ctx context.Context, instanceTypes ...string) (*offer.Catalogue, error) {
	if err := s.awaitFirstRead(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	due := hardwareDue
	if slices.ContainsFunc(instanceTypes, s.lacksLocked) {
		due = unknownDue
	}
	refreshLocked(ctx, s, &s.hardware, due, s.readHardware)
	refreshLocked(ctx, s, &s.spot, spotPricesDue, s.readSpotPrices)
	if s.prices != nil {
		refreshLocked(ctx, s, &s.onDemand, onDemandDue, func(ctx context.Context) (map[string]offer.Price, error) { return s.prices.get(ctx, func() {}) })
	}
	if s.catalogue == nil {
		s.catalogue = s.assemble()
	}
	return s.catalogue, nil
}

// Estimate says why on-demand prices are estimates. It is empty if they are the published
// ones.
func (s *Stock) Estimate() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.prices == nil:
		return s.noPrices
	case !s.onDemand.at.IsZero():
		return ""
	case s.onDemand.err != nil:
		return s.onDemand.err.Error()
	}
	return "the price list has not been read yet"
}

// The reasons of the condition that shows a fault.
const (
	reasonTypesOutdated = "InstanceTypesOutdated"
	reasonSpotUnknown   = "SpotPricesUnknown"
	reasonSpotOutdated  = "SpotPricesOutdated"
)

// Fault says why spot prices or instance types are not known as they are now, with the reason of
// a condition. Both are empty if the last reads succeeded.
func (s *Stock) Fault() (reason, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hardware.err != nil:
		return reasonTypesOutdated, fmt.Sprintf("instance types and their zones are those of %s: %s", s.hardware.at.UTC().Format(time.RFC3339), s.hardware.err)
	case s.spot.err != nil && s.spot.at.IsZero():
		return reasonSpotUnknown, fmt.Sprintf("spot capacity is not bought, because its prices are not known: %s", s.spot.err)
	case s.spot.err != nil:
		return reasonSpotOutdated, fmt.Sprintf("spot prices are those of %s: %s", s.spot.at.UTC().Format(time.RFC3339), s.spot.err)
	}
	return "", ""
}

// lacksLocked reports whether no zone of the region is known to sell an instance type.
func (s *Stock) lacksLocked(instanceType string) bool {
	return len(s.hardware.value.zones[instanceType]) == 0
}

// firstRead reads the instance types, without which nothing can be bought, and the spot prices,
// without which only on-demand machines can be.
type firstRead struct {
	began  time.Time
	before error         // of the read before it; nil: there was none
	done   chan struct{} // closed when it is over
	err    error
}

// awaitFirstRead waits until the stock has been read once. If a caller gives up, reading goes
// on: when EC2 throttles requests, it takes longer than callers wait. Once a read has failed,
// callers wait for the next ones no longer than client.Patience, as they do for lookups.
func (s *Stock) awaitFirstRead(ctx context.Context) error {
	s.mu.Lock()
	known, first := !s.hardware.at.IsZero(), s.first
	if !known && (first == nil || first.err != nil && !s.now().Before(s.again)) {
		next := &firstRead{began: time.Now(), done: make(chan struct{})}
		if first != nil {
			next.before = first.err
		}
		first, s.first = next, next
		go s.readFirst(context.WithoutCancel(ctx), first)
	}
	s.mu.Unlock()
	if known {
		return nil
	}
	if first.before != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, first.began.Add(client.Patience))
		defer cancel()
	}
	select {
	case <-first.done:
		return first.err
	case <-ctx.Done():
		return cmp.Or(first.before, fmt.Errorf("wait for the catalogue of instance types: %w", ctx.Err()))
	}
}

func (s *Stock) readFirst(ctx context.Context, first *firstRead) {
	ctx, cancel := context.WithTimeout(ctx, refreshDeadline)
	defer cancel()
	defer close(first.done)
	var spot spotPrices
	var spotErr error
	var reading sync.WaitGroup
	reading.Go(func() { spot, spotErr = s.readSpotPrices(ctx) })
	hardware, err := s.readHardware(ctx)
	if err != nil {
		cancel() // nobody waits for prices without instance types
	}
	reading.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if err != nil {
		s.pause = client.NextPause(s.pause)
		s.again, first.err = now.Add(s.pause), err
		return
	}
	s.hardware.read(hardware, nil, now)
	s.spot.tried = now
	s.spot.read(spot, spotErr, now)
}

// refreshLocked starts to read a part in the background if it is as old as due. If that
// fails, the part stays as it was, and is read again after client.RetryInterval. If it keeps
// failing, as without a permission, the pause grows to a small part of due.
func refreshLocked[T any](ctx context.Context, s *Stock, part *snapshot[T], due time.Duration, read func(context.Context) (T, error)) {
	now := s.now()
	if part.busy || (!part.at.IsZero() && now.Sub(part.at) < due) || (!part.tried.IsZero() && now.Sub(part.tried) < max(part.pause, client.RetryInterval)) {
		return
	}
	part.busy, part.tried, part.pause = true, now, min(max(2*part.pause, client.RetryInterval), due/24)
	go refresh(context.WithoutCancel(ctx), s, part, read)
}

// refresh reads a part that is noted as busy.
func refresh[T any](ctx context.Context, s *Stock, part *snapshot[T], read func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(ctx, refreshDeadline)
	defer cancel()
	value, err := read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	part.busy = false
	part.read(value, err, s.now())
	if err == nil {
		s.catalogue = nil
	}
}

// assemble makes a catalogue of the parts. An instance type without a known on-demand price
// gets that of the embedded table, marked as an estimate.
func (s *Stock) assemble() *offer.Catalogue {
	table, own := embeddedPrices(s.region)
	fallback := estimates(table, own, s.spot.value)
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

// embeddedPrices returns the on-demand prices of the embedded table. For a region that is not
// in the table, these are the prices of fallbackRegion, and own is false.
func embeddedPrices(region string) (prices map[string]offer.Price, own bool) {
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
	return out, err == nil
}

const fallbackRegion = "us-east-1"

// estimates raises prices of the embedded table that are too low. No machine costs more as spot capacity than on
// demand. So in a region of which the table has its own prices, none is below the spot price of its type. Another
// region may be more expensive, or have another currency. There, all prices of the table are raised by the
// largest factor by which a spot price exceeds the price of its type.
func estimates(table map[string]offer.Price, own bool, spot spotPrices) map[string]offer.Price {
	times := 1.0
	for name, zones := range spot {
		for _, price := range zones {
			switch known := table[name]; {
			case known > 0 && own:
				table[name] = max(known, price)
			case known > 0:
				times = max(times, float64(price)/float64(known))
			}
		}
	}
	for name, price := range table {
		table[name] = offer.Price(math.Ceil(float64(price) * times))
	}
	return table
}

func (s *Stock) readHardware(ctx context.Context) (inventory, error) {
	out := inventory{zones: map[string][]string{}, zoneIDs: map[string]string{}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { out.hardware, err = s.describeTypes(ctx); return err })
	group.Go(func() error { return s.describeOfferings(ctx, out.zones) })
	group.Go(func() error { return s.describeZones(ctx, out.zoneIDs) })
	err := group.Wait()
	if err == nil && min(len(out.hardware), len(out.zones), len(out.zoneIDs)) == 0 {
		err = fmt.Errorf("describe instance types: EC2 lists %d instance types, offerings of %d, and %d zones, but every region has some of each", len(out.hardware), len(out.zones), len(out.zoneIDs))
	}
	if err != nil {
		return inventory{}, err
	}
	return out, nil
}

func (s *Stock) describeTypes(ctx context.Context) ([]offer.Hardware, error) {
	var out []offer.Hardware
	in := &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{
		client.Filter("supported-virtualization-type", "hvm"),
		client.Filter("supported-usage-class", api.CapacityOnDemand, api.CapacitySpot),
		client.Filter("processor-info.supported-architecture", "x86_64", "arm64"),
	}}
	err := client.EachPage(ctx, ec2.NewDescribeInstanceTypesPaginator(s.ec2, in), func(page *ec2.DescribeInstanceTypesOutput) {
		for i := range page.InstanceTypes {
			out = append(out, hardwareOf(&page.InstanceTypes[i]))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe instance types: %w", err)
	}
	return out, nil
}

func (s *Stock) describeOfferings(ctx context.Context, zones map[string][]string) error {
	in := &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone}
	err := client.EachPage(ctx, ec2.NewDescribeInstanceTypeOfferingsPaginator(s.ec2, in), func(page *ec2.DescribeInstanceTypeOfferingsOutput) {
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

func (s *Stock) describeZones(ctx context.Context, ids map[string]string) error {
	out, err := client.Invoke(ctx, s.ec2.AvailabilityZones, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return fmt.Errorf("describe availability zones: %w", err)
	}
	for _, zone := range out.AvailabilityZones {
		ids[awssdk.ToString(zone.ZoneName)] = awssdk.ToString(zone.ZoneId)
	}
	return nil
}

// readSpotPrices reads the current price of each instance type in each zone. A region may have none, but does not lose
// all at once.
func (s *Stock) readSpotPrices(ctx context.Context) (spotPrices, error) {
	out := spotPrices{}
	latest := map[pool]time.Time{}
	now := s.now()
	in := &ec2.DescribeSpotPriceHistoryInput{
		StartTime:           &now, // only current prices
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
	}
	err := client.EachPage(ctx, ec2.NewDescribeSpotPriceHistoryPaginator(s.ec2, in), func(page *ec2.DescribeSpotPriceHistoryOutput) {
		for _, h := range page.SpotPriceHistory {
			name, zone, at := string(h.InstanceType), awssdk.ToString(h.AvailabilityZone), awssdk.ToTime(h.Timestamp)
			price, err := offer.ParsePrice(awssdk.ToString(h.SpotPrice))
			key := pool{name, zone}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := len(s.spot.value); before > 0 && len(out) == 0 {
		return nil, fmt.Errorf("describe spot prices: EC2 lists none, and had listed those of %d instance types before", before)
	}
	return out, nil
}

// firstAnswer is how long ReadPrices waits for the beginning of the price list. Without a route to
// the Pricing API, it would wait for client.CallTimeout. The whole list may take longer.
const firstAnswer = 5 * time.Second

// ReadPrices reads on-demand prices and waits for them, unless they have been read or are
// being read. Prices that cannot be read stay estimates, and Estimate says why.
func (s *Stock) ReadPrices(ctx context.Context) {
	s.mu.Lock()
	skip := s.prices == nil || s.onDemand.busy || !s.onDemand.at.IsZero()
	if !skip {
		s.onDemand.busy, s.onDemand.tried = true, s.now()
	}
	s.mu.Unlock()
	if skip {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(firstAnswer, func() { cancel(fmt.Errorf("the Pricing API did not answer within %s", firstAnswer)) })
	defer late.Stop()
	refresh(ctx, s, &s.onDemand, func(ctx context.Context) (map[string]offer.Price, error) {
		prices, err := s.prices.get(ctx, func() { late.Stop() })
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("get prices of %s: %w", s.region, context.Cause(ctx))
		}
		return prices, err
	})
}
