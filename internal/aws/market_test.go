package aws

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// What EC2 describes leads to the same machines as the embedded table, on whose
// data the modelled account is built.
func TestMarketAgreesWithTheEmbeddedCatalogue(t *testing.T) {
	f := startWith(t, offer.EmbeddedCSV())
	m := f.market(t, nil)
	if m.Blocked != "" || len(m.Types) < 900 {
		t.Fatalf("%d types, blocked %q", len(m.Types), m.Blocked)
	}
	embedded := map[string]offer.InstanceType{}
	for _, it := range offer.Embedded().Types(offer.Settings{Region: testRegion}) {
		embedded[it.Name] = it
	}
	differ := 0
	for _, got := range m.Types {
		want := embedded[got.Name]
		delete(got.Labels, api.LabelInstanceAMIID)
		diff := cmp.Diff(want.Labels, got.Labels) + cmp.Diff(want.Capacity, got.Capacity) + cmp.Diff(want.Overhead, got.Overhead)
		if diff != "" {
			if differ++; differ <= 3 {
				t.Errorf("%s: -embedded +EC2\n%s", got.Name, diff)
			}
		}
		for _, o := range got.Offerings {
			if o.ZoneID == "" || o.Price <= 0 || o.Unavailable != "" {
				t.Errorf("%s: offering %+v", got.Name, o)
			}
		}
	}
}

func TestMarketStatus(t *testing.T) {
	f := start(t)
	status := f.market(t, nil).Status
	var zones []string
	for _, s := range status.Subnets {
		if s.FreeAddresses <= 0 || !strings.HasPrefix(s.ID, "subnet-") {
			t.Errorf("subnet = %+v", s)
		}
		zones = append(zones, s.Zone)
	}
	slices.Sort(zones)
	if diff := cmp.Diff([]string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}, zones); diff != "" {
		t.Errorf("zones: -want +got\n%s", diff)
	}
	// Both groups with the cluster's tag: EKS's own and the nodes'.
	if len(status.SecurityGroups) != 2 || status.SecurityGroups[1].Name != "node" {
		t.Errorf("security groups = %+v", status.SecurityGroups)
	}
	if len(status.AMIs) != 5 {
		t.Errorf("images = %+v, want five variants", status.AMIs)
	}
}

// AWS-102.
func TestSelectors(t *testing.T) {
	f := start(t)
	all := f.market(t, &api.NodeProfile{SubnetSelector: map[string]string{"Name": "*"}}).Status.Subnets
	private := f.market(t, nil).Status.Subnets
	name := func(i int) string { return "prod-private-" + private[i].Zone }
	tests := map[string]struct {
		selector map[string]string
		want     int
	}{
		"tag":                       {map[string]string{"karpenter.sh/discovery": "prod"}, 3},
		"has the tag":               {map[string]string{"kubernetes.io/role/elb": "*"}, 3},
		"has the tag, empty":        {map[string]string{"karpenter.sh/discovery": ""}, 3},
		"wildcard":                  {map[string]string{"Name": "prod-private-*"}, 3},
		"alternatives":              {map[string]string{"Name": name(0) + ", " + name(1)}, 2},
		"ids":                       {map[string]string{"aws::ids": all[0].ID + "," + all[1].ID}, 2},
		"ids in the early spelling": {map[string]string{"aws-ids": all[0].ID}, 1},
		"ids and tags":              {map[string]string{"aws::ids": private[0].ID + "," + private[1].ID, "Name": name(1)}, 1},
		"all keys must match":       {map[string]string{"karpenter.sh/discovery": "prod", "kubernetes.io/role/elb": "1"}, 0},
		"nothing":                   {map[string]string{"Name": "nowhere"}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := f.market(t, &api.NodeProfile{SubnetSelector: tt.selector})
			if got := len(m.Status.Subnets); got != tt.want {
				t.Errorf("subnets = %d, want %d", got, tt.want)
			}
			if blocked := m.BlockedReason == "NoSubnets"; blocked != (tt.want == 0) {
				t.Errorf("blocked = %q", m.Blocked)
			}
		})
	}
}

func TestOnlyZonesWithSubnetsAreOffered(t *testing.T) {
	f := start(t)
	m := f.market(t, &api.NodeProfile{SubnetSelector: map[string]string{"Name": "prod-private-eu-west-1b"}})
	for _, o := range find(t, m, "m5.large").Offerings {
		if o.Zone != "eu-west-1b" {
			t.Errorf("offered in %s", o.Zone)
		}
	}
}

// AWS-100.
func TestRoomiestSubnetOfAZone(t *testing.T) {
	f := start(t)
	profile := &api.NodeProfile{SubnetSelector: map[string]string{"Name": "*-eu-west-1a"}} // the private one is larger
	want := f.market(t, &api.NodeProfile{SubnetSelector: map[string]string{"Name": "prod-private-eu-west-1a"}}).Status.Subnets[0].ID
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	o.Node.Profile = profile
	if got := f.launch(t, o).Instances[0].SubnetID; got != want {
		t.Errorf("launched into %s, want %s", got, want)
	}
}

func TestPromisedAddressesCount(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Options)
		family string
		want   int64
	}{
		"VPC CNI":           {func(*Options) {}, "", 20}, // an m5.large takes ten addresses for each of two interfaces
		"prefixes":          {func(o *Options) { o.PrefixDelegation = true }, "", 33},
		"Windows":           {func(*Options) {}, "Windows2022", 10}, // which has one interface
		"custom networking": {func(o *Options) { o.ReservedENIs = 1 }, "", 1},
		"another plugin":    {func(o *Options) { o.IgnoreENIs = true }, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, tt.change)
			before := f.market(t, nil).Status.Subnets
			wanted := order("launch-1", 3, onDemand("m5.large", "a"))
			if tt.family != "" {
				wanted.Node.Profile = &api.NodeProfile{AMIFamily: &tt.family}
			}
			i := f.launch(t, wanted).Instances[0]
			for n, s := range f.market(t, nil).Status.Subnets {
				want := before[n].FreeAddresses
				if s.ID == i.SubnetID {
					want -= 3 * tt.want
				}
				if s.FreeAddresses != want {
					t.Errorf("%s: %d free addresses, want %d", s.ID, s.FreeAddresses, want)
				}
			}
		})
	}
}

func TestImagesByFamily(t *testing.T) {
	tests := map[string]struct {
		profile *api.NodeProfile
		want    map[string]bool // type: on the market
		image   string          // part of the name of m5.large's image
	}{
		"default":      {nil, map[string]bool{"m6g.large": true, "g5.xlarge": true, "inf2.xlarge": true}, "amazon-eks-node-al2023-x86_64-standard"},
		"AL2":          {&api.NodeProfile{AMIFamily: new("AL2")}, map[string]bool{"m6g.large": true, "g5.xlarge": true, "inf2.xlarge": true}, "amazon-eks-node-1.33"},
		"Bottlerocket": {&api.NodeProfile{AMIFamily: new("Bottlerocket")}, map[string]bool{"m6g.large": true, "g5.xlarge": true, "inf2.xlarge": true}, "bottlerocket-aws-k8s-1.33-x86_64"},
		"Ubuntu":       {&api.NodeProfile{AMIFamily: new("Ubuntu")}, map[string]bool{"m6g.large": true, "g5.xlarge": false}, "ubuntu-noble-24.04-amd64"},
		"Windows":      {&api.NodeProfile{AMIFamily: new("Windows2022")}, map[string]bool{"m6g.large": false}, "Windows_Server-2022-English-Core"},
		"Windows 2019": {&api.NodeProfile{AMIFamily: new("Windows2019")}, map[string]bool{"m6g.large": false}, "Windows_Server-2019-English-Core"},
		"selected by architecture": {&api.NodeProfile{
			AMIFamily: new("Custom"), AMISelector: map[string]string{"aws::name": "amazon-eks-node-al2023-arm64-standard-*"},
		}, map[string]bool{"m6g.large": true, "m5.large": false}, ""},
		"selected with an owner": {&api.NodeProfile{
			AMIFamily: new("Custom"), AMISelector: map[string]string{"aws::name": "ubuntu-eks/k8s_1.33*amd64*", "aws::owners": "099720109477"},
		}, map[string]bool{"m6g.large": false, "m5.large": true}, "ubuntu-eks"},
	}
	f := start(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := f.market(t, tt.profile)
			if m.Blocked != "" {
				t.Fatal(m.Blocked)
			}
			for instanceType, want := range tt.want {
				if got := has(m, instanceType); got != want {
					t.Errorf("%s on the market: %t, want %t", instanceType, got, want)
				}
			}
			if tt.image == "" {
				return
			}
			id, _ := new(find(t, m, "m5.large")).Label(api.LabelInstanceAMIID)
			at := slices.IndexFunc(m.Status.AMIs, func(a api.AMIStatus) bool { return a.ID == id })
			if at < 0 || !strings.Contains(m.Status.AMIs[at].Name, tt.image) {
				t.Errorf("image of m5.large = %s of %+v", id, m.Status.AMIs)
			}
		})
	}
}

// AWS-087.
func TestNewestSelectedImageWins(t *testing.T) {
	f := start(t)
	m := f.market(t, &api.NodeProfile{AMIFamily: new("Custom"), AMISelector: map[string]string{"aws::name": "amazon-eks-node-al2023-x86_64-standard-1.33-*"}})
	if len(m.Status.AMIs) != 2 {
		t.Fatalf("images = %+v, want two releases", m.Status.AMIs)
	}
	newest := slices.MaxFunc(m.Status.AMIs, func(a, b api.AMIStatus) int { return strings.Compare(a.Name, b.Name) })
	if id, _ := new(find(t, m, "m5.large")).Label(api.LabelInstanceAMIID); id != newest.ID {
		t.Errorf("image = %s, want %s (%s)", id, newest.ID, newest.Name)
	}
}

func TestBlockedReasons(t *testing.T) {
	f := start(t)
	tests := map[string]struct {
		profile api.NodeProfile
		want    string
		words   string
	}{
		"no security group": {api.NodeProfile{SecurityGroupSelector: map[string]string{"Name": "none"}}, "NoSecurityGroups", `no security group matches {"Name":"none"}`},
		"no image selected": {api.NodeProfile{AMIFamily: new("Custom"), AMISelector: map[string]string{"aws::name": "none"}}, "NoImages", `no image matches {"aws::name":"none","aws::owners":"self,amazon"}`},
		"no image for it":   {api.NodeProfile{AMIFamily: new("Custom")}, "NoImages", "there is no Custom image for Kubernetes 1.33"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := f.market(t, &tt.profile)
			if m.BlockedReason != tt.want || !strings.Contains(m.Blocked, tt.words) || len(m.Types) != 0 {
				t.Errorf("blocked = %s %q with %d types", m.BlockedReason, m.Blocked, len(m.Types))
			}
			o := order("launch-1", 1, onDemand("m5.large", "a"))
			o.Node.Profile = &tt.profile
			if _, err := f.Launch(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("launch: %v", err)
			}
		})
	}
	without := &fixture{Cloud: f.newCloud(t, func(o *Options) { o.DefaultInstanceProfile = "" })}
	if m := without.market(t, nil); m.BlockedReason != "NoInstanceProfile" {
		t.Errorf("without an instance profile: %s %q", m.BlockedReason, m.Blocked)
	}
	if m := without.market(t, &api.NodeProfile{LaunchTemplate: new("mine")}); m.Blocked != "" || len(m.Types) < 40 {
		t.Errorf("with a launch template of the user's own: %q, %d types", m.Blocked, len(m.Types))
	}
}

func TestKubeletSettingsSizeTheMachines(t *testing.T) {
	f := start(t, func(o *Options) { o.MemoryOverheadPercent = new(50.0) })
	p := provisioner("default")
	p.Spec.KubeletConfiguration = &api.KubeletConfiguration{MaxPods: new(int32(10))}
	m, err := f.Market(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := find(t, m, "m5.large").Capacity
	if got[amount.Pods] != 10 || got[amount.Memory] != 4<<30 {
		t.Errorf("capacity = %v", got)
	}
	if other := find(t, f.market(t, nil), "m5.large").Capacity; other[amount.Pods] != 29 {
		t.Errorf("capacity of another Provisioner = %v", other)
	}
}

func TestUnchangedMarketCostsNothing(t *testing.T) {
	f := start(t)
	first := f.market(t, nil)
	before := len(f.account.Calls())
	second := f.market(t, nil)
	if made := len(f.account.Calls()) - before; made != 0 {
		t.Errorf("the second look made %d calls", made)
	}
	if &first.Types[0] != &second.Types[0] {
		t.Error("the types were computed again")
	}
	f.clock.Step(2 * time.Minute)
	f.market(t, nil)
	if made := len(f.account.Calls()) - before; made != 1 {
		t.Errorf("after two minutes %d calls were made, want one for the subnets", made)
	}
}

// Provisioners whose markets are the same share one, because it takes some megabytes. Their node profiles may differ
// in what has no influence on it.
func TestProvisionersShareAMarket(t *testing.T) {
	f := start(t)
	profile := func(i int) *api.NodeProfile { return &api.NodeProfile{Tags: map[string]string{"team": fmt.Sprint(i)}} }
	markets := make([]offer.Market, 8)
	shared := func() int {
		var all sync.WaitGroup
		for i := range markets {
			all.Go(func() {
				m, err := f.Market(t.Context(), provisioner(fmt.Sprint("team-", i)), profile(i))
				if err != nil {
					t.Error(err)
				}
				markets[i] = m
			})
		}
		all.Wait()
		distinct := map[*offer.InstanceType]bool{}
		for _, m := range markets {
			distinct[&m.Types[0]] = true
		}
		return len(distinct)
	}
	if n := shared(); n != 1 {
		t.Fatalf("%d markets of Provisioners whose node profiles differ in tags alone", n)
	}
	for name, change := range map[string]func(){
		"a shortage": func() { f.Cloud.shortages.add(onDemand("m5.large", "a"), "", offer.RefusedCapacity, 2) },
		"a node": func() {
			it := find(t, markets[0], "m5.large")
			image, _ := it.Label(api.LabelInstanceAMIID)
			shown := it.Capacity.Minus(amount.List{amount.Memory: 2 << 30})
			f.Learn(offer.Observed{InstanceType: "m5.large", ImageID: image, Profile: profile(0), Capacity: it.Capacity, Allocatable: shown})
		},
	} {
		change()
		if n := shared(); n != 1 {
			t.Errorf("after %s: %d markets", name, n)
		}
	}
	tags, err := f.Cloud.resolve(t.Context(), profile(0))
	if err != nil {
		t.Fatal(err)
	}
	f.Cloud.shortages.add(onDemand("m5.large", "a"), tags.setup, offer.RefusedOther, 2)
	if n := shared(); n != 2 {
		t.Errorf("%d markets, want one more for the node profile for which EC2 has refused a machine", n)
	}
	larger := &api.NodeProfile{BlockDeviceMappings: []api.BlockDeviceMapping{{
		DeviceName: new("/dev/xvda"), EBS: &api.BlockDevice{VolumeSize: ptr.To(resource.MustParse("100Gi"))},
	}}}
	if other := f.market(t, larger); &other.Types[0] == &markets[1].Types[0] {
		t.Error("a node profile with a larger volume has the same market")
	}
}

// The images of Ubuntu are not for GPUs, unless a node profile selects them.
func TestMarketsOfTheSameImagesDiffer(t *testing.T) {
	f := start(t)
	profile := &api.NodeProfile{AMIFamily: new(api.FamilyUbuntu)}
	published := f.market(t, profile)
	ids := make([]string, len(published.Status.AMIs))
	for i, im := range published.Status.AMIs {
		ids[i] = im.ID
	}
	profile.AMISelector = map[string]string{api.SelectorIDs: strings.Join(ids, ",")}
	if selected := f.market(t, profile); has(published, "g5.xlarge") || !has(selected, "g5.xlarge") {
		t.Errorf("g5.xlarge is sold with published images: %t, with selected ones: %t", has(published, "g5.xlarge"), has(selected, "g5.xlarge"))
	}
}

// The markets of Provisioners that come and go do not pile up: each takes some megabytes.
func TestMarketsOfDeletedProvisionersGo(t *testing.T) {
	f := start(t)
	for i := range 30 {
		if _, err := f.Market(t.Context(), provisioner(fmt.Sprint("preview-", i)), nil); err != nil {
			t.Fatal(err)
		}
		kept := f.market(t, nil)
		if again := f.market(t, nil); &again.Types[0] != &kept.Types[0] {
			t.Fatal("the market of a Provisioner that stays was computed again")
		}
		f.Cloud.shortages.add(onDemand("m5.large", "a"), "", offer.RefusedCapacity, 2)
		f.clock.Step(marketUnusedFor / 2)
	}
	if n := len(f.Cloud.markets.last); n > 4 {
		t.Errorf("%d markets are kept, want those of the last ten minutes", n)
	}
}

func TestStockIsLookedAtAgain(t *testing.T) {
	f := start(t)
	f.market(t, nil)
	history := f.calls("DescribeSpotPriceHistory", "")
	kinds := f.calls("DescribeInstanceTypes", "")
	f.clock.Step(time.Hour + time.Minute)
	f.market(t, nil)
	eventually(t, "a new look at the spot prices", func() bool { return f.calls("DescribeSpotPriceHistory", "") >= 2*history })
	if got := f.calls("DescribeInstanceTypes", ""); got != kinds {
		t.Errorf("instance types were described again after an hour")
	}
	f.clock.Step(12 * time.Hour)
	f.market(t, nil)
	eventually(t, "a new look at the instance types", func() bool { return f.calls("DescribeInstanceTypes", "") >= 2*kinds })
}

func TestPricesOfThePriceList(t *testing.T) {
	f := start(t, func(o *Options) { o.NoPricing = false })
	f.market(t, nil)
	eventually(t, "a catalogue with listed prices", func() bool {
		c, err := f.Cloud.stock.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return !c.Regions[testRegion].Sales["m5.large"].Estimate
	})
	m := f.market(t, nil)
	if got := find(t, m, "m5.large").Offerings[0].Price; got != 107_000 || m.Estimate != "" {
		t.Errorf("price = %d, want 107000; estimate = %q", got, m.Estimate)
	}
}

func TestEmbeddedPricesStandIn(t *testing.T) {
	f := start(t, func(o *Options) { o.NoPricing = false })
	f.account.Inject(cloud.Fault{Service: "pricing", Action: "*", Code: "AccessDeniedException"})
	if got := find(t, f.market(t, nil), "m5.large").Offerings[0].Price; got != 107_000 {
		t.Errorf("price = %d, want that of the embedded table", got)
	}
	c, err := f.Cloud.stock.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !c.Regions[testRegion].Sales["m5.large"].Estimate {
		t.Error("the price is not marked as an estimate")
	}
	eventually(t, "the reason", func() bool { return strings.Contains(f.market(t, nil).Estimate, "AccessDenied") })
}

func TestMarketOutlivesAnOutage(t *testing.T) {
	f := start(t)
	f.market(t, nil)
	lift := f.account.Inject(cloud.Fault{Service: "ec2", Action: "DescribeSubnets", Code: "InvalidParameterValue"})
	f.clock.Step(10 * time.Minute)
	if m := f.market(t, nil); m.Blocked != "" || len(m.Types) == 0 {
		t.Errorf("market during the outage: %q, %d types", m.Blocked, len(m.Types))
	}
	f.clock.Step(2 * time.Hour)
	if _, err := f.Market(t.Context(), provisioner("default"), nil); err == nil {
		t.Error("what was found hours ago is still believed")
	}
	lift()
	f.clock.Step(time.Minute)
	f.market(t, nil)
}

func TestClusterFacts(t *testing.T) {
	f := start(t)
	facts, err := f.Cloud.cluster.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if facts.Endpoint != "https://127.0.0.1:6443" || facts.Version != "1.33" || string(facts.CA) != "PEM" || facts.ServiceCIDR != "10.100.0.0/16" {
		t.Errorf("facts = %+v", facts)
	}
	f.account.SetCluster(cloud.Cluster{Name: "prod", Version: "1.29", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), ServiceCIDR: "10.100.0.0/16"})
	given := f.newCloud(t, func(o *Options) { o.ClusterEndpoint = "https://x" })
	if facts, err := given.cluster.Get(t.Context()); err != nil || facts.Endpoint != "https://x" {
		t.Errorf("facts = %+v, %v, want the endpoint of the options", facts, err)
	}
	if name := imageName(t, (&fixture{Cloud: given}).market(t, nil), "m6g.large"); !strings.Contains(name, "amazon-eks-arm64-node-1.29") {
		t.Errorf("image %s, want AL2, the default family of an early version", name)
	}
	if _, err := New(t.Context(), f.config, Options{ClusterName: "other"}); err == nil {
		t.Error("a cluster that does not exist is no error")
	}
	if _, err := New(t.Context(), f.config, Options{ClusterName: "prod", NodeOptions: offer.NodeOptions{MemoryOverheadPercent: new(100.0)}}); err == nil {
		t.Error("a memory overhead of everything is no error")
	}
	if _, err := New(t.Context(), f.config, Options{}); err == nil {
		t.Error("a missing name is no error")
	}
}

func TestNoCallIsRetriedWithoutReason(t *testing.T) {
	for range 5 {
		f := startWith(t, offer.EmbeddedCSV())
		f.market(t, nil)
		const pages = 14 // of a hundred instance types each
		if got := f.calls("DescribeInstanceTypes", ""); got > pages {
			t.Errorf("instance types were asked for %d times, want at most %d", got, pages)
		}
	}
}

// Load balancers would not reach the pods of machines that nobody has warned of.
func TestSecurityGroupsThatAreDoubted(t *testing.T) {
	const tag = " all have the tag kubernetes.io/cluster/prod"
	f := start(t)
	for want, selector := range map[string]map[string]string{tag: nil, "": {"Name": "prod-node"}} {
		if got := f.market(t, &api.NodeProfile{SecurityGroupSelector: selector}).Findings.Warnings().Summary(); strings.Contains(got, tag) != (want != "") {
			t.Errorf("selector %v: warnings %q", selector, got)
		}
	}
	for found, want := range map[int]string{5: "", 6: "spec.securityGroupSelector of its node profile: 6 security groups match"} {
		r := &resolved{profile: &api.NodeProfile{}, securityGroups: make([]lookup.SecurityGroup, found)}
		r.securityGroups[0].Clusters, r.securityGroups[1].Clusters = []string{"prod"}, []string{"other"}
		if got := r.doubtGroups("prod").Warnings().Summary(); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%d groups: warnings %q, want %q", found, got, want)
		}
	}
	r := &resolved{profile: classOf(func(*api.ClassTerms) {}), securityGroups: make([]lookup.SecurityGroup, 6)}
	if got := r.doubtGroups("prod").Warnings().Summary(); !strings.HasPrefix(got, "spec.securityGroupSelectorTerms of its EC2NodeClass: ") {
		t.Errorf("warnings %q do not name the field of the class", got)
	}
}
