package aws

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// price returns what an offering costs in the first zone.
func price(t *testing.T, m offer.Market, instanceType, capacityType string) offer.Price {
	t.Helper()
	for _, o := range find(t, m, instanceType).Offerings {
		if o.Zone == testRegion+"a" && o.CapacityType == capacityType {
			return o.Price
		}
	}
	t.Fatalf("%s is not sold as %s", instanceType, capacityType)
	return 0
}

func TestSpotPricesFollowTheHistory(t *testing.T) {
	f := start(t)
	f.account.SetBehaviour(cloud.Behaviour{SpotVolatility: 0.3})
	before := price(t, f.market(t, nil), "m5.large", api.CapacitySpot)
	f.clock.Step(30 * time.Minute)
	if now := price(t, f.market(t, nil), "m5.large", api.CapacitySpot); now != before {
		t.Errorf("after half an hour the price was looked up again: %d, then %d", before, now)
	}
	f.clock.Step(time.Hour)
	eventually(t, "another price", func() bool { return price(t, f.market(t, nil), "m5.large", api.CapacitySpot) != before })
	if got := price(t, f.market(t, nil), "m5.large", api.CapacityOnDemand); got != 107_000 {
		t.Errorf("on-demand price = %d, want it unchanged", got)
	}
}

// A role that may not read spot prices buys on-demand machines, and says why it buys no spot machines.
// Once it may, it buys both. If it loses the permission again, the prices that are known stay.
func TestSpotPricesThatAreRefused(t *testing.T) {
	f := start(t)
	allowed, read := atomic.Bool{}, f.reads.SpotPrices
	f.reads.SpotPrices = func(ctx context.Context, in *ec2.DescribeSpotPriceHistoryInput, o ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
		if !allowed.Load() {
			return nil, &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "ec2:DescribeSpotPriceHistory"}
		}
		return read(ctx, in, o...)
	}
	sold := func(m offer.Market) bool {
		return slices.ContainsFunc(find(t, m, "m5.large").Offerings, func(o offer.Offering) bool { return o.CapacityType == api.CapacitySpot })
	}
	m := f.market(t, nil)
	if price(t, m, "m5.large", api.CapacityOnDemand) == 0 || sold(m) {
		t.Errorf("offerings = %+v, want those on demand", find(t, m, "m5.large").Offerings)
	}
	if m.FaultReason != "SpotPricesUnknown" || !strings.Contains(m.Fault, "ec2:DescribeSpotPriceHistory") {
		t.Errorf("fault = %q, %q", m.FaultReason, m.Fault)
	}
	if _, err := f.Catalogue(t.Context()); err == nil || !strings.Contains(err.Error(), "ec2:DescribeSpotPriceHistory") {
		t.Errorf("a catalogue without spot prices is printed, error = %v", err)
	}
	allowed.Store(true)
	f.clock.Step(time.Minute)
	eventually(t, "spot offerings", func() bool { m := f.market(t, nil); return m.Fault == "" && sold(m) })
	allowed.Store(false)
	f.clock.Step(2 * time.Hour)
	eventually(t, "word of old prices", func() bool { return f.market(t, nil).FaultReason == "SpotPricesOutdated" })
	if !sold(f.market(t, nil)) {
		t.Error("spot offerings are gone, although their prices were known")
	}
}

// Instance types stay on sale if they cannot be read again, and that is said.
func TestInstanceTypesThatAreRefusedLater(t *testing.T) {
	f := start(t)
	f.market(t, nil)
	f.reads.Offerings = func(context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
		return nil, &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "ec2:DescribeInstanceTypeOfferings"}
	}
	f.clock.Step(13 * time.Hour)
	eventually(t, "word of old instance types", func() bool {
		m := f.market(t, nil)
		return price(t, m, "m5.large", api.CapacityOnDemand) > 0 && m.FaultReason == "InstanceTypesOutdated" && strings.Contains(m.Fault, "ec2:DescribeInstanceTypeOfferings")
	})
}

// What EC2 lists as empty does not replace what is known.
func TestStockOfWhichNothingIsListed(t *testing.T) {
	for name, empty := range map[string]func(*client.EC2){
		"instance types": func(ec *client.EC2) {
			ec.InstanceTypes = func(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
				return &ec2.DescribeInstanceTypesOutput{}, nil
			}
		},
		"offerings": func(ec *client.EC2) {
			ec.Offerings = func(context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
				return &ec2.DescribeInstanceTypeOfferingsOutput{}, nil
			}
		},
		"zones": func(ec *client.EC2) {
			ec.AvailabilityZones = func(context.Context, *ec2.DescribeAvailabilityZonesInput, ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error) {
				return &ec2.DescribeAvailabilityZonesOutput{}, nil
			}
		},
		"spot prices": func(ec *client.EC2) {
			ec.SpotPrices = func(context.Context, *ec2.DescribeSpotPriceHistoryInput, ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
				return &ec2.DescribeSpotPriceHistoryOutput{}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.market(t, nil)
			empty(f.reads)
			f.clock.Step(13 * time.Hour)
			eventually(t, "word of old stock", func() bool {
				m := f.market(t, nil)
				return strings.HasSuffix(m.FaultReason, "Outdated") && price(t, m, "m5.large", api.CapacitySpot) > 0
			})
		})
	}
}

// New instance types are found when somebody asks for them by name, without a
// look at every turn.
func TestUnknownInstanceTypesAreLookedFor(t *testing.T) {
	f := start(t)
	p := provisioner("default")
	p.Spec.Requirements = []api.Requirement{{Key: api.LabelInstanceType, Operator: api.OpIn, Values: []string{"m5.large", "m99.large"}}}
	look := func() int {
		if _, err := f.Market(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		return f.calls("DescribeInstanceTypes", "")
	}
	first := look()
	f.clock.Step(5 * time.Minute)
	if got := look(); got != first {
		t.Fatalf("a type that is not there was looked for again after five minutes")
	}
	f.clock.Step(6 * time.Minute)
	eventually(t, "another look", func() bool { return look() > first })

	second := f.calls("DescribeInstanceTypes", "")
	p.Spec.Requirements[0].Values = []string{"m5.large"}
	f.clock.Step(time.Hour)
	if got := look(); got != second {
		t.Error("types that are known were looked for again")
	}
}

// Windows costs 0.046 $ per vCPU and hour more than the hardware.
func TestWindowsMachinesCostTheirLicence(t *testing.T) {
	f := start(t)
	linux, windows := f.market(t, nil), f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyWindows2022)})
	for _, capacityType := range []string{api.CapacityOnDemand, api.CapacitySpot} {
		got := price(t, windows, "m5.xlarge", capacityType) - price(t, linux, "m5.xlarge", capacityType)
		if want := offer.Price(4 * 46_000); got != want {
			t.Errorf("%s: Windows costs %d more, want %d", capacityType, got, want)
		}
	}
	o := order("launch-1", 1, onDemand("m5.xlarge", "a"))
	o.Node.Profile = &api.NodeProfile{AMIFamily: new(api.FamilyWindows2022)}
	f.launch(t, o)
	if got, want := f.account.Ledger().HourlyMicros, int64(price(t, windows, "m5.xlarge", api.CapacityOnDemand)); got != want {
		t.Errorf("the account pays %d, the market said %d", got, want)
	}
}

// Without the price list, for networks from which it cannot be reached, nothing is asked of
// the Pricing API.
func TestNoPricing(t *testing.T) {
	f := start(t)
	before := len(f.account.Calls())
	f.Cloud = f.newCloud(t, func(o *Options) {
		o.NoPricing = true
	})
	profile := &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: anyImage}
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	o.Node.Profile = profile
	f.launch(t, o)
	for range 3 {
		f.market(t, profile)
		f.clock.Step(13 * time.Hour)
	}
	for _, c := range f.account.Calls()[before:] {
		if c.Service == "pricing" {
			t.Errorf("%s %s was called", c.Service, c.Action)
		}
	}
}

func TestMachinesOfIPv6Clusters(t *testing.T) {
	f := start(t)
	f.account.SetCluster(cloud.Cluster{Name: "prod", Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), ServiceCIDR: "fd30:1c53:5f8a::/108"})
	f.Cloud = f.newCloud(t)
	m := find(t, f.market(t, nil), "m5.large")
	if got := m.Capacity["pods"]; got != 110 {
		t.Errorf("pods = %d, want as many as prefixes allow", got)
	}
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	data := f.templateContent(t)
	if len(data.SecurityGroupIds) > 0 || len(data.NetworkInterfaces) != 1 {
		t.Fatalf("network interfaces = %+v, groups = %v", data.NetworkInterfaces, data.SecurityGroupIds)
	}
	n := data.NetworkInterfaces[0]
	if *n.Ipv6AddressCount != 1 || !*n.PrimaryIpv6 || len(n.Groups) == 0 || !*n.DeleteOnTermination || data.MetadataOptions.HttpProtocolIpv6 != "enabled" {
		t.Errorf("interface = %+v, metadata = %+v", n, data.MetadataOptions)
	}
	if text := string(f.live()[0].UserData); !strings.Contains(text, "cidr: fd30:1c53:5f8a::/108") {
		t.Errorf("user data has not the range of Services:\n%s", text)
	}
}

// The network plugin gives no pod an address on machines before Nitro.
func TestMachinesThatIPv6ClustersCannotUse(t *testing.T) {
	f := startWith(t, catalogueOf("i3", "i4i", "m4", "m5"))
	sold := func() (names []string) {
		for _, it := range f.market(t, nil).Types {
			if strings.HasSuffix(it.Name, ".large") {
				names = append(names, it.Name)
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{"i3.large", "i4i.large", "m4.large", "m5.large"}, sold()); diff != "" {
		t.Errorf("with IPv4 (-want +got):\n%s", diff)
	}
	f.account.SetCluster(cloud.Cluster{Name: "prod", Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), ServiceCIDR: "fd30:1c53:5f8a::/108"})
	f.Cloud = f.newCloud(t)
	if diff := cmp.Diff([]string{"i4i.large", "m5.large"}, sold()); diff != "" {
		t.Errorf("with IPv6 (-want +got):\n%s", diff)
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html
func TestWindowsIsNotForIPv6Clusters(t *testing.T) {
	f := start(t)
	windows := &api.NodeProfile{AMIFamily: new(api.FamilyWindows2022)}
	if m := f.market(t, windows); m.Blocked != "" {
		t.Errorf("with IPv4: %s", m.Blocked)
	}
	f.account.SetCluster(cloud.Cluster{Name: "prod", Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), ServiceCIDR: "fd30:1c53:5f8a::/108"})
	f.Cloud = f.newCloud(t)
	if m := f.market(t, windows); m.BlockedReason != reasonNoInstanceTypes || !strings.Contains(m.Blocked, "Windows nodes in a cluster with IPv6") {
		t.Errorf("with IPv6: %s: %q", m.BlockedReason, m.Blocked)
	}
}

func TestPodsOnLocalDisks(t *testing.T) {
	f := startWith(t, catalogueOf("m5d"))
	profile := &api.NodeProfile{InstanceStorePolicy: new(api.InstanceStoreRAID0)}
	with, without := find(t, f.market(t, profile), "m5d.large"), find(t, f.market(t, nil), "m5d.large")
	if a, b := with.Capacity["ephemeral-storage"], without.Capacity["ephemeral-storage"]; a != 75e9 || b != 20<<30 {
		t.Errorf("storage = %d with and %d without the local disks", a, b)
	}
	o := order("launch-1", 1, onDemand("m5d.large", "a"))
	o.Node.Profile = profile
	f.launch(t, o)
	if text := string(f.live()[0].UserData); !strings.Contains(text, "strategy: RAID0") {
		t.Errorf("the machine is not told to join its disks:\n%s", text)
	}
}

func TestElasticFabricAdapters(t *testing.T) {
	f := startWith(t, catalogueOf("m5", "p4d"), func(o *Options) { o.EFA = true })
	const name, adapters = "p4d.24xlarge", 4
	m := find(t, f.market(t, nil), name)
	if got := m.Capacity["vpc.amazonaws.com/efa"]; got != adapters {
		t.Fatalf("adapters on the market = %d, want %d", got, adapters)
	}
	zone := strings.TrimPrefix(m.Offerings[0].Zone, testRegion)
	d := f.launch(t, order("launch-1", 1, onDemand(name, zone)))
	if len(d.Instances) != 1 || f.live()[0].EFAs != adapters {
		t.Fatalf("delivery = %+v, adapters of the machine = %d", d, f.live()[0].EFAs)
	}
	d = f.launch(t, order("launch-2", 1, onDemand("m5.large", "a")))
	if len(d.Instances) != 1 || len(f.templates(t)) != 2 {
		t.Errorf("a machine without adapters: delivery = %+v, templates = %d, want one of its own", d, len(f.templates(t)))
	}
}
