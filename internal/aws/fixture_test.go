package aws

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	smithytime "github.com/aws/smithy-go/time"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

const testRegion = "eu-west-1"

// fixture is the adapter against a modelled AWS account, over real HTTP with
// real clients.
type fixture struct {
	*Cloud
	account *cloudtest.Account
	admin   *ec2.Client
	clock   *clocktesting.FakeClock
	config  awssdk.Config
}

// start has an account that sells a few families of instance types.
func start(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	return startWith(t, catalogueOf("c5", "g5", "inf2", "m5", "m6g", "r5"), change...)
}

// catalogueOf is the table of some families of instance types.
func catalogueOf(families ...string) []byte {
	lines := strings.SplitAfter(string(offer.EmbeddedCSV()), "\n")
	kept := lines[:1]
	for _, line := range lines[1:] {
		if family, _, _ := strings.Cut(line, "."); slices.Contains(families, family) {
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept, ""))
}

// startWith has an account that sells what a table lists.
func startWith(t *testing.T, catalogue []byte, change ...func(*Options)) *fixture {
	t.Helper()
	k := clocktesting.NewFakeClock(time.Now())
	account := cloudtest.Serve(t, cloud.Config{
		Region: testRegion, Catalogue: catalogue, Now: k.Now, Seed: 7,
		Cluster: cloud.Cluster{Name: "prod", Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), ServiceCIDR: "10.100.0.0/16"},
	})
	f := &fixture{account: account, clock: k, config: account.Config}
	f.admin = ec2.NewFromConfig(f.config)
	f.Cloud = f.newCloud(t, change...)
	return f
}

// newCloud is the adapter as after a restart.
func (f *fixture) newCloud(t *testing.T, change ...func(*Options)) *Cloud {
	t.Helper()
	o := Options{ClusterName: "prod", DefaultInstanceProfile: "packhorse-node", Now: f.clock.Now, NoPricing: true}
	for _, c := range change {
		c(&o)
	}
	c, err := New(t.Context(), f.config, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// calls counts the requests for an action, answered with the code ("" for success).
func (f *fixture) calls(action, code string) int {
	n := 0
	for _, c := range f.account.Calls() {
		if c.Action == action && c.ErrorCode == code {
			n++
		}
	}
	return n
}

// live returns the instances that are not on their way out.
func (f *fixture) live() []cloud.Instance {
	return slices.DeleteFunc(f.account.Instances(), func(i cloud.Instance) bool { return i.State == "shutting-down" || i.State == "terminated" })
}

func (f *fixture) templates(t *testing.T) []types.LaunchTemplate {
	t.Helper()
	out, err := f.admin.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		t.Fatal(err)
	}
	return out.LaunchTemplates
}

// templateContent returns the content of the only launch template.
func (f *fixture) templateContent(t *testing.T) *types.ResponseLaunchTemplateData {
	t.Helper()
	templates := f.templates(t)
	if len(templates) != 1 {
		t.Fatalf("launch templates = %d, want 1", len(templates))
	}
	out, err := f.admin.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: templates[0].LaunchTemplateId, Versions: []string{"$Latest"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.LaunchTemplateVersions[0].LaunchTemplateData
}

func (f *fixture) market(t *testing.T, profile *api.NodeProfile) offer.Market {
	t.Helper()
	m, err := f.Market(t.Context(), provisioner("default"), profile)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// held says why an offering with two vCPUs is held back from a node profile.
func (f *fixture) held(t *testing.T, c offer.Candidate, profile *api.NodeProfile) string {
	t.Helper()
	return f.Cloud.shortages.reason(c, must2(f.resolve(t.Context(), profile))(t).setup, 2)
}

func (f *fixture) launch(t *testing.T, o offer.Order) offer.Delivery {
	t.Helper()
	d, err := f.Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func provisioner(name string) *api.Provisioner {
	p := &api.Provisioner{}
	p.Name = name
	return p
}

// order asks for count machines for the Provisioner "default".
func order(id string, count int, candidates ...offer.Candidate) offer.Order {
	return offer.Order{LaunchID: id, Provisioner: "default", Count: count, Candidates: candidates}
}

func onDemand(instanceType, zone string) offer.Candidate {
	return offer.Candidate{InstanceType: instanceType, Zone: testRegion + zone, CapacityType: api.CapacityOnDemand}
}

func spot(instanceType, zone string) offer.Candidate {
	return offer.Candidate{InstanceType: instanceType, Zone: testRegion + zone, CapacityType: api.CapacitySpot}
}

func find(t *testing.T, m offer.Market, name string) offer.InstanceType {
	t.Helper()
	for _, it := range m.Types {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("%s is not on the market", name)
	return offer.InstanceType{}
}

func has(m offer.Market, name string) bool {
	return slices.ContainsFunc(m.Types, func(it offer.InstanceType) bool { return it.Name == name })
}

// eventually waits for a condition that another goroutine brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !condition() {
		if smithytime.SleepWithContext(ctx, 5*time.Millisecond) != nil {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// must2 is must for a call that returns something.
func must2[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}
