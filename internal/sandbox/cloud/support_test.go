package cloud

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// testCatalogue has an Intel, a Graviton, a GPU, a Neuron, a bare-metal and an
// on-demand-only type; the last column but three is the zones of eu-west-1.
const testCatalogue = `name,family,category,generation,size,vcpus,memory_mib,arch,cpu_manufacturer,hypervisor,bare_metal,burstable,current_generation,gpu_name,gpu_manufacturer,gpu_count,gpu_memory_mib,accelerator_name,accelerator_manufacturer,accelerator_count,local_nvme_gb,network_mbps,ebs_mbps,eni_max,ipv4_per_eni,eni_max_default_card,branch_interfaces,efa_max,encryption_in_transit,usage_classes,usd_us_east_1,usd_us_west_2,usd_eu_west_1,price_is_estimate,zones_us_east_1,zones_us_west_2,zones_eu_west_1,spot_interruption_bucket_us_east_1,spot_savings_pct_us_east_1
m5.large,m5,m,5,large,2,8192,x86_64,intel,nitro,false,false,false,,,,,,,,,750,4750,3,10,3,9,0,false,on-demand/spot,0.096,0.096,0.107,,abcdf,abcd,abc,3,66
m5.xlarge,m5,m,5,xlarge,4,16384,x86_64,intel,nitro,false,false,false,,,,,,,,,1250,4750,4,15,4,18,0,false,on-demand/spot,0.192,0.192,0.214,,abcdf,abcd,ab,3,66
c7gd.large,c7gd,c,7,large,2,4096,arm64,aws,nitro,false,false,true,,,,,,,,118,937,10000,3,10,3,9,0,true,on-demand/spot,0.0907,0.0907,0.103,,abcdf,abcd,abc,1,59
g4dn.xlarge,g4dn,g,4,xlarge,4,16384,x86_64,intel,nitro,false,false,true,T4,NVIDIA,1,16384,,,,125,5000,3500,3,10,3,39,0,true,on-demand/spot,0.526,0.526,0.587,,abcdf,abc,abc,3,64
inf2.xlarge,inf2,inf,2,xlarge,4,16384,x86_64,amd,nitro,false,false,true,,,,,Inferentia2,AWS,1,,2083,10000,4,15,4,18,0,true,on-demand/spot,0.7582,0.7582,0.94775,,abcf,abcd,abc,0,78
m5.metal,m5,m,5,metal,96,393216,x86_64,intel,,true,false,false,,,,,,,,,25000,19000,15,50,15,114,0,false,on-demand,4.608,4.608,5.136,,abc,abc,a,,
nowhere.large,nowhere,m,1,large,2,8192,x86_64,intel,nitro,false,false,false,,,,,,,,,750,4750,3,10,3,9,0,false,on-demand,0.1,0.1,,,a,a,,,
`

// fixture is a cloud behind a real HTTP server, with real clients.
type fixture struct {
	*clients
	cloud *Cloud
	clock *clocktesting.FakeClock
	url   string
}

type clients struct {
	ec2     *ec2.Client
	iam     *iam.Client
	sts     *sts.Client
	eks     *eks.Client
	ssm     *ssm.Client
	pricing *pricing.Client
	sqs     *sqs.Client
	events  *eventbridge.Client
}

func start(t *testing.T) *fixture {
	t.Helper()
	k := clocktesting.NewFakeClock(time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC))
	c, err := New(Config{
		Catalogue: []byte(testCatalogue), Now: k.Now, Seed: 7,
		Cluster: account.Cluster{Name: "prod", Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), IssuerURL: "https://127.0.0.1:6443", ServiceCIDR: "10.100.0.0/16"},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.Handler())
	t.Cleanup(server.Close)
	c.SetEndpoint(server.URL)
	key, secret := c.AdminCredentials()
	return &fixture{clients: newClients(server.URL, key, secret, ""), cloud: c, clock: k, url: server.URL}
}

func newClients(url, key, secret, token string) *clients {
	config := aws.Config{
		Region: "eu-west-1", BaseEndpoint: &url, RetryMaxAttempts: 1, HTTPClient: connect.WithMemoryBodies(nil),
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, token),
	}
	return &clients{
		ec2: ec2.NewFromConfig(config), iam: iam.NewFromConfig(config), sts: sts.NewFromConfig(config), eks: eks.NewFromConfig(config),
		ssm: ssm.NewFromConfig(config), pricing: pricing.NewFromConfig(config), sqs: sqs.NewFromConfig(config), events: eventbridge.NewFromConfig(config),
	}
}

// codeOf returns the AWS error code of an error, or what it is instead.
func codeOf(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	default:
		return "not an API error: " + err.Error()
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Fatalf("error code = %q, want %q (%v)", got, code, err)
	}
}

func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// subnetIn returns the private subnet of a zone of eu-west-1.
func (f *fixture) subnetIn(t *testing.T, letter string) string {
	t.Helper()
	out, err := f.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{
		{Name: aws.String("availability-zone"), Values: []string{"eu-west-1" + letter}},
		{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{"prod"}},
	}})
	if err != nil || len(out.Subnets) != 1 {
		t.Fatalf("private subnets of zone %s: %v, %v", letter, out, err)
	}
	return *out.Subnets[0].SubnetId
}

// imageFor returns the newest AL2023 image for "x86_64" or "arm64".
func (f *fixture) imageFor(t *testing.T, arch string) string {
	t.Helper()
	out := must2(f.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{
		Name: aws.String("/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/" + arch + "/standard/recommended/image_id"),
	}))(t)
	return *out.Parameter.Value
}

// must2 fails the test unless a call succeeded.
func must2[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		return must(t, value, err)
	}
}

func filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: values}
}

func hasPrefix(text *string, prefix string) bool {
	return text != nil && strings.HasPrefix(*text, prefix)
}

// asError is errors.As, for tests that care for the client's own error types.
func asError[T error](err error, target *T) bool { return errors.As(err, target) }
