package aws

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/refusal"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

func TestLaunchOneMachine(t *testing.T) {
	f := start(t, func(o *Options) { o.Tags = map[string]string{"cost-centre": "7", api.TagManagedBy: "somebody"} })
	o := order("launch-1", 1, onDemand("m5.large", "b"))
	o.Tags = map[string]string{"packhorse.io/label/team": "a"}
	o.Node = offer.NodeSpec{
		Labels:  map[string]string{"team": "a"},
		Taints:  []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}},
		Profile: &api.NodeProfile{Tags: map[string]string{"stage": "test"}},
	}
	d := f.launch(t, o)
	if len(d.Instances) != 1 || len(d.Refusals) != 0 {
		t.Fatalf("delivery = %+v", d)
	}
	got := d.Instances[0]
	if got.NodeName == "" || got.ProviderID != "aws:///eu-west-1b/"+got.ID || got.SubnetID == "" || len(got.SecurityGroupIDs) != 2 || got.Profile != "packhorse-node" {
		t.Errorf("instance = %+v", got)
	}
	wantTags := map[string]string{
		"karpenter.sh/provisioner-name": "default",
		"kubernetes.io/cluster/prod":    "owned",
		"karpenter.sh/managed-by":       "prod",
		"packhorse.io/launch-id":        "launch-1",
		"packhorse.io/label/team":       "a",
		"Name":                          "karpenter.sh/provisioner-name/default",
		"cost-centre":                   "7",
		"stage":                         "test",
	}
	tags := got.Tags
	delete(tags, "aws:ec2:fleet-id")
	if diff := cmp.Diff(wantTags, tags); diff != "" {
		t.Errorf("tags: -want +got\n%s", diff)
	}
	data := f.templateContent(t)
	text, err := base64.StdEncoding.DecodeString(awssdk.ToString(data.UserData))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := userdata.Parse(userdata.AL2023, text)
	if err != nil {
		t.Fatal(err)
	}
	wantLabels := map[string]string{"team": "a", api.LabelCapacityType: "on-demand", api.LabelProvisioner: "default"}
	if diff := cmp.Diff(wantLabels, settings.Kubelet.Labels); diff != "" {
		t.Errorf("labels: -want +got\n%s", diff)
	}
	if settings.ClusterName != "prod" || settings.Endpoint != "https://127.0.0.1:6443" || *settings.Kubelet.MaxPods != 29 || len(settings.Kubelet.Taints) != 1 {
		t.Errorf("settings = %+v", settings)
	}
}

// AWS-096, AWS-097: no detailed monitoring; the metadata service with tokens only.
func TestLaunchTemplateDefaults(t *testing.T) {
	f := start(t)
	f.launch(t, order("launch-1", 1, spot("m5.large", "a")))
	data := f.templateContent(t)
	if m := data.MetadataOptions; m.HttpEndpoint != "enabled" || m.HttpTokens != "required" || *m.HttpPutResponseHopLimit != 2 || m.HttpProtocolIpv6 != "disabled" {
		t.Errorf("metadata options = %+v", m)
	}
	if *data.Monitoring.Enabled {
		t.Error("detailed monitoring is on")
	}
	if len(data.BlockDeviceMappings) != 1 {
		t.Fatalf("volumes = %d, want 1", len(data.BlockDeviceMappings))
	}
	v := data.BlockDeviceMappings[0]
	if *v.DeviceName != "/dev/xvda" || *v.Ebs.VolumeSize != 20 || v.Ebs.VolumeType != "gp3" || !*v.Ebs.Encrypted || !*v.Ebs.DeleteOnTermination {
		t.Errorf("root volume = %+v", v)
	}
	if *data.IamInstanceProfile.Name != "packhorse-node" {
		t.Errorf("instance profile = %s", *data.IamInstanceProfile.Name)
	}
	var tagged []string
	for _, s := range data.TagSpecifications {
		tagged = append(tagged, string(s.ResourceType))
	}
	if diff := cmp.Diff([]string{"network-interface", "spot-instances-request"}, tagged); diff != "" {
		t.Errorf("what is tagged: -want +got\n%s", diff)
	}
}

// AWS-096, AWS-098: detailed monitoring and the metadata service as given.
func TestLaunchTemplateAsTheProfileSays(t *testing.T) {
	f := start(t)
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	four := resource.MustParse("4G")
	o.Node.Profile = &api.NodeProfile{
		MetadataOptions:    &api.MetadataOptions{HTTPTokens: new("optional"), HTTPPutResponseHopLimit: new(int64(3))},
		DetailedMonitoring: new(true),
		BlockDeviceMappings: []api.BlockDeviceMapping{{DeviceName: new("/dev/xvda"), EBS: &api.BlockDevice{
			VolumeSize: &four, VolumeType: new("io2"), IOPS: new(int64(3000)), Encrypted: new(true), KMSKeyID: new("key"), DeleteOnTermination: new(false),
		}}},
	}
	f.launch(t, o)
	data := f.templateContent(t)
	if data.MetadataOptions.HttpTokens != "optional" || *data.MetadataOptions.HttpPutResponseHopLimit != 3 || !*data.Monitoring.Enabled {
		t.Errorf("template = %+v", data)
	}
	e := data.BlockDeviceMappings[0].Ebs
	if *e.VolumeSize != 4 || e.VolumeType != "io2" || *e.Iops != 3000 || *e.KmsKeyId != "key" || *e.DeleteOnTermination || e.Throughput != nil {
		t.Errorf("volume = %+v", e)
	}
}

// AWS-058, LAUNCH-014: another zone, within the same launch; nothing is left of the
// attempt that failed.
func TestInsufficientCapacityLeadsToAnotherOfferingAtOnce(t *testing.T) {
	tests := map[string]struct {
		candidates []offer.Candidate
		want       string // type and zone
	}{
		"another zone":          {[]offer.Candidate{onDemand("m5.large", "a"), onDemand("m5.large", "b")}, "m5.large eu-west-1b on-demand"},
		"another type":          {[]offer.Candidate{onDemand("m5.large", "a"), onDemand("m5.xlarge", "a")}, "m5.xlarge eu-west-1a on-demand"},
		"another capacity type": {[]offer.Candidate{spot("m5.large", "a"), onDemand("c5.large", "a")}, "c5.large eu-west-1a on-demand"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.account.SetCapacity("m5.large", testRegion+"a", "*", 0)
			d := f.launch(t, order("launch-1", 1, tt.candidates...))
			if len(d.Instances) != 1 {
				t.Fatalf("delivery = %+v", d)
			}
			i := d.Instances[0]
			if got := i.InstanceType + " " + i.Zone + " " + i.CapacityType; got != tt.want {
				t.Errorf("bought %s, want %s", got, tt.want)
			}
			if live := f.live(); len(live) != 1 || live[0].ID != i.ID {
				t.Errorf("instances = %+v, want only the one that was delivered", live)
			}
			if len(d.Refusals) != 1 || d.Refusals[0].Candidate != tt.candidates[0] || d.Refusals[0].Reason != offer.RefusedCapacity {
				t.Errorf("refusals = %+v", d.Refusals)
			}
			if f.held(t, offer.Candidate{InstanceType: "m5.large", Zone: testRegion + "a", CapacityType: tt.candidates[0].CapacityType}, nil) == "" {
				t.Error("the refused offering is not held back")
			}
		})
	}
}

func TestNothingToBeHad(t *testing.T) {
	f := start(t)
	f.account.SetCapacity("*", "*", "*", 0)
	candidates := []offer.Candidate{onDemand("m5.large", "a"), onDemand("m5.large", "b"), spot("m5.large", "a")}
	d := f.launch(t, order("launch-1", 1, candidates...))
	if len(d.Instances) != 0 || len(d.Refusals) != 3 {
		t.Errorf("delivery = %+v, want three refusals", d)
	}
	if got := f.calls("CreateFleet", ""); got != 2 {
		t.Errorf("fleet requests = %d, want one per capacity type", got)
	}
}

// AWS-060.
func TestRefusedOfferingIsUnavailableForThreeMinutes(t *testing.T) {
	f := start(t)
	unavailable := func() string {
		for _, o := range find(t, f.market(t, nil), "m5.large").Offerings {
			if o.Zone == testRegion+"a" && o.CapacityType == api.CapacityOnDemand {
				return o.Unavailable
			}
		}
		t.Fatal("no such offering")
		return ""
	}
	if got := unavailable(); got != "" {
		t.Fatalf("unavailable from the start: %s", got)
	}
	f.account.SetCapacity("m5.large", testRegion+"a", api.CapacityOnDemand, 0)
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	f.clock.Step(2*time.Minute + 59*time.Second)
	if got := unavailable(); !strings.HasPrefix(got, "insufficient capacity until ") {
		t.Errorf("before three minutes are over: %q", got)
	}
	f.clock.Step(2 * time.Second)
	if got := unavailable(); got != "" {
		t.Errorf("after three minutes: %q", got)
	}
}

func TestPartialSuccess(t *testing.T) {
	f := start(t)
	f.account.SetCapacity("m5.large", "*", "*", 2)
	d := f.launch(t, order("launch-1", 5, onDemand("m5.large", "a"), onDemand("m5.large", "b")))
	if len(d.Instances) != 4 {
		t.Errorf("instances = %d, want the four that there are", len(d.Instances))
	}
	if len(d.Refusals) == 0 {
		t.Error("nothing says why the fifth is missing")
	}
	f.account.SetCapacity("m5.large", "*", "*", -1)
}

func TestMissingMachinesAreBoughtElsewhere(t *testing.T) {
	f := start(t)
	f.account.SetCapacity("m5.large", "*", api.CapacitySpot, 1)
	d := f.launch(t, order("launch-1", 3, spot("m5.large", "a"), onDemand("m5.large", "a")))
	bought := map[string]int{}
	for _, i := range d.Instances {
		bought[i.CapacityType]++
	}
	if diff := cmp.Diff(map[string]int{"spot": 1, "on-demand": 2}, bought); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(f.live()) != 3 {
		t.Errorf("running instances = %d, want 3", len(f.live()))
	}
}

func TestSameLaunchIDBuysOnce(t *testing.T) {
	f := start(t)
	o := order("launch-1", 2, onDemand("m5.large", "a"))
	first := f.launch(t, o)
	second := f.launch(t, o)
	if diff := cmp.Diff(ids(first.Instances), ids(second.Instances)); diff != "" {
		t.Errorf("-first +second\n%s", diff)
	}
	restarted := &fixture{Cloud: f.newCloud(t), account: f.account, clock: f.clock, config: f.config}
	o.Candidates = append(o.Candidates, onDemand("m5.large", "b")) // EC2 refuses the token for another request
	third := restarted.launch(t, o)
	if diff := cmp.Diff(ids(first.Instances), ids(third.Instances)); diff != "" {
		t.Errorf("-first +third\n%s", diff)
	}
	if len(f.live()) != 2 {
		t.Errorf("running instances = %d, want 2", len(f.live()))
	}
}

// Two agents that order for the same pods have the same id, but may have
// decided differently: EC2 refuses the second, which gets what the first has bought.
func TestTwoOrdersForTheSamePods(t *testing.T) {
	f := start(t)
	other := &fixture{Cloud: f.newCloud(t), account: f.account, clock: f.clock, config: f.config}
	first := f.launch(t, order("pods-1", 2, onDemand("m5.large", "a")))
	f.clock.Step(offer.ListingLag) // until then, the first may have bought a third that EC2 does not list yet
	second := other.launch(t, order("pods-1", 3, onDemand("c5.large", "b"), onDemand("m5.large", "a")))
	if len(second.Instances) != 3 || len(f.live()) != 3 {
		t.Errorf("the second order got %d machines, and %d run; want 3 with the 2 that were there", len(second.Instances), len(f.live()))
	}
	for _, id := range ids(first.Instances) {
		if !slices.Contains(ids(second.Instances), id) {
			t.Errorf("machine %s of the first order is not one of the second's", id)
		}
	}
}

// What an earlier order with the same id has bought may have ended since. EC2 answers the same request as before, and
// the next order is served.
func TestSameLaunchIDAfterItsMachineEnded(t *testing.T) {
	f := start(t)
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	first := f.launch(t, o)
	if _, err := f.Terminate(t.Context(), ids(first.Instances)); err != nil {
		t.Fatal(err)
	}
	second := f.launch(t, o)
	if len(second.Instances) != 0 || len(second.Refusals) != 1 || second.Refusals[0].Reason != offer.RefusedEnded {
		t.Errorf("delivery = %+v after %v ended, want a refusal", second, ids(first.Instances))
	}
	o.LaunchID = "launch-2"
	third := f.launch(t, o)
	if len(third.Instances) != 1 || third.Instances[0].ID == first.Instances[0].ID || len(f.live()) != 1 {
		t.Errorf("got %v after %v ended, want another machine", ids(third.Instances), ids(first.Instances))
	}
}

// A machine that ends right after its launch is not bought again in the same order, also if the agent's clock is
// ahead of EC2's. Others are bought in another zone.
func TestMachineEndsAtOnce(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"clocks agree": 0, "the agent's clock is ahead": time.Minute} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.Cloud = f.newCloud(t, func(o *Options) { o.Now = func() time.Time { return f.clock.Now().Add(ahead) } })
			f.account.Subscribe(func(e cloud.Event) {
				if e.Kind == cloud.Launched && e.Instance.Zone == testRegion+"a" {
					if err := f.account.TerminateInstance(e.Instance.ID); err != nil {
						t.Error(err)
					}
				}
			})
			d := f.launch(t, order("launch-1", 3, onDemand("m5.large", "a")))
			if len(d.Instances) > 0 || len(f.account.Instances()) != 3 || f.calls("CreateFleet", "") != 1 {
				t.Errorf("got %v, and %d machines were bought; want three that are not delivered", ids(d.Instances), len(f.account.Instances()))
			}
			const why = " ended right after its launch: "
			if len(d.Refusals) != 1 || d.Refusals[0].Reason != offer.RefusedEnded || !strings.Contains(d.Refusals[0].Message, why) {
				t.Errorf("refusals = %+v, want one that says that the machines ended", d.Refusals)
			}
			it := find(t, f.market(t, nil), "m5.large")
			if it.OfferingIn(testRegion+"a", api.CapacityOnDemand).Unavailable == "" {
				t.Error("the offering whose machines ended is not held back")
			}
			if why := it.OfferingIn(testRegion+"b", api.CapacityOnDemand).Unavailable; why != "" {
				t.Errorf("the other zone is held back: %s", why)
			}
			if d := f.launch(t, order("launch-2", 1, onDemand("m5.large", "b"))); len(d.Instances) != 1 {
				t.Errorf("delivery = %+v, want a machine in the other zone", d)
			}
		})
	}
}

// An earlier order with the same id may have been refused, by another agent. It may also have bought machines
// that EC2 does not list yet: none is bought for a minute.
func TestSameLaunchIDAfterARefusal(t *testing.T) {
	f := start(t)
	f.account.SetCapacity("*", "*", api.CapacityOnDemand, 0)
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	f.account.SetCapacity("*", "*", api.CapacityOnDemand, -1)
	restarted := &fixture{Cloud: f.newCloud(t), account: f.account, clock: f.clock, config: f.config}
	o := order("launch-1", 1, onDemand("m5.large", "b"))
	if _, err := restarted.Launch(t.Context(), o); err == nil || offer.IsPermanent(err) || !strings.Contains(err.Error(), "launch id launch-1") {
		t.Errorf("right after it: %v, want an error that may pass and names the launch id", err)
	}
	f.clock.Step(offer.ListingLag)
	d := restarted.launch(t, o)
	if len(d.Instances) != 1 || len(f.live()) != 1 {
		t.Errorf("delivery = %+v, want one machine", d)
	}
}

func ids(list []offer.Instance) []string {
	var out []string
	for _, i := range list {
		out = append(out, i.ID)
	}
	slices.Sort(out)
	return out
}

// AWS-085: the same constraints reuse one launch template.
func TestLaunchTemplatesAreReused(t *testing.T) {
	f := start(t)
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	f.launch(t, order("launch-2", 1, onDemand("m5.large", "b")))
	if got := f.calls("CreateLaunchTemplate", ""); got != 1 {
		t.Errorf("launch templates made = %d, want 1", got)
	}
	o := order("launch-4", 1, onDemand("m5.large", "a"))
	o.Node.Labels = map[string]string{"another": "node"}
	f.launch(t, o)
	if got := len(f.templates(t)); got != 2 {
		t.Errorf("launch templates with other user data = %d, want 2", got)
	}
}

// A new leader has EC2 refuse the orders of the one before it, which may have been on
// their way while that was stopped.
func TestClaim(t *testing.T) {
	f := start(t)
	next := &fixture{Cloud: f.newCloud(t), account: f.account, clock: f.clock, config: f.config}
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	f.writes.CreateLaunchTemplate = func(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error) {
		return nil, errors.New("another process leads") // as the fence has it
	}
	next.launch(t, order("launch-2", 1, onDemand("m5.large", "a")))
	must(t, next.Claim(t.Context()))
	late, err := f.Launch(t.Context(), order("launch-3", 1, onDemand("m5.large", "a")))
	if err == nil || len(late.Instances) > 0 || f.calls("CreateFleet", "InvalidLaunchTemplateName.NotFoundException") != 1 {
		t.Errorf("the late order was served: %+v, %v", late, err)
	}
	d := next.launch(t, order("launch-4", 1, onDemand("m5.large", "a")))
	if len(d.Instances) != 1 || len(f.live()) != 3 || len(f.templates(t)) != 1 {
		t.Errorf("delivery to the leader = %+v with %d launch templates", d, len(f.templates(t)))
	}
}

// AWS-085: a template deleted behind our back is created again.
func TestTemplateDeletedBehindOurBack(t *testing.T) {
	f := start(t)
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	_, err := f.admin.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: f.templates(t)[0].LaunchTemplateId})
	if err != nil {
		t.Fatal(err)
	}
	d := f.launch(t, order("launch-2", 1, onDemand("m5.large", "a")))
	if len(d.Instances) != 1 || len(d.Refusals) != 0 {
		t.Errorf("delivery = %+v", d)
	}
	if got := len(f.templates(t)); got != 1 {
		t.Errorf("launch templates = %d, want it back", got)
	}
	if got := f.held(t, onDemand("m5.large", "a"), nil); got != "" {
		t.Errorf("the offering is held back for it: %s", got)
	}
}

// EC2 may not know a new launch template at first, and says so for each offering. What it buys with another one counts.
func TestTemplateThatIsNotKnownYet(t *testing.T) {
	const code = "InvalidLaunchTemplateName.NotFoundException"
	f := start(t)
	create, known := f.writes.CreateFleet, false
	var tokens []string
	f.writes.CreateFleet = func(ctx context.Context, in *ec2.CreateFleetInput, o ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
		tokens = append(tokens, *in.ClientToken)
		if known = known || len(tokens) > 2; known {
			return create(ctx, in, o...)
		}
		out := &ec2.CreateFleetOutput{Errors: []types.CreateFleetError{{ErrorCode: awssdk.String(code)}}}
		if len(tokens) == 2 {
			part := *in
			part.TargetCapacitySpecification = &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: awssdk.Int32(1)}
			bought, err := create(ctx, &part, o...)
			must(t, err)
			out.Instances = bought.Instances
		}
		return out, nil
	}
	d := f.launch(t, order("launch-1", 2, onDemand("m5.large", "a")))
	if len(d.Instances) != 2 || len(d.Refusals) != 0 || len(f.live()) != 2 {
		t.Errorf("delivery = %+v, want both machines", d)
	}
	if len(tokens) != 3 || tokens[1] == tokens[2] {
		t.Errorf("tokens = %v, want three, because EC2 answers each as before", tokens)
	}
	known, tokens = false, nil
	l, err := f.Cloud.newLaunch(t.Context(), new(order("launch-2", 1, onDemand("m5.large", "b"))))
	must(t, err)
	if err := l.askFleet(t.Context(), maxRounds-1); !offer.IsPermanent(err) || !strings.Contains(err.Error(), "InvalidLaunchTemplateName.NotFound") {
		t.Errorf("after the last round: %v, want a permanent error that says why", err)
	}
}

func TestOneTemplatePerImageAndDensity(t *testing.T) {
	f := start(t)
	f.account.SetCapacity("m5.large", "*", "*", 1)
	f.account.SetCapacity("m6g.large", "*", "*", 1)
	d := f.launch(t, order("launch-1", 3, onDemand("m5.large", "a"), onDemand("m6g.large", "a"), onDemand("g5.xlarge", "a")))
	images := map[string]string{}
	for _, i := range d.Instances {
		images[i.InstanceType] = i.ImageID
	}
	if len(images) != 3 || images["m5.large"] == images["m6g.large"] || images["m5.large"] == images["g5.xlarge"] {
		t.Errorf("images = %v, want three different ones", images)
	}
	if got := f.calls("CreateFleet", ""); got != 1 {
		t.Errorf("fleet requests = %d, want 1", got)
	}
}

func TestErrorsAreSorted(t *testing.T) {
	t.Run("quota", func(t *testing.T) {
		f := start(t)
		f.account.SetQuota(api.CapacityOnDemand, 1)
		d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"), spot("m5.large", "a")))
		if len(d.Instances) != 1 || d.Instances[0].CapacityType != api.CapacitySpot || d.Refusals[0].Reason != offer.RefusedQuota {
			t.Errorf("delivery = %+v", d)
		}
		for _, o := range find(t, f.market(t, nil), "r5.large").Offerings {
			if held := o.Unavailable != ""; held != (o.CapacityType == api.CapacityOnDemand) {
				t.Errorf("%s %s: unavailable = %q", o.Zone, o.CapacityType, o.Unavailable)
			}
		}
		for _, o := range find(t, f.market(t, nil), "g5.xlarge").Offerings {
			if o.Unavailable != "" {
				t.Errorf("GPUs have a quota of their own, but %s is held back: %s", o.CapacityType, o.Unavailable)
			}
		}
	})
	t.Run("a quota that is too small for some", func(t *testing.T) {
		f := start(t)
		f.account.SetQuota(api.CapacityOnDemand, 12)
		d := f.launch(t, order("launch-1", 2, onDemand("m5.2xlarge", "a"))) // 8 vCPUs each
		if len(d.Instances) != 1 || d.Refusals[0].Reason != offer.RefusedQuota {
			t.Fatalf("delivery = %+v", d)
		}
		m := f.market(t, nil)
		for name, want := range map[string]bool{"m5.xlarge": false, "m5.2xlarge": true, "r5.4xlarge": true} {
			it := find(t, m, name)
			if o := it.OfferingIn(testRegion+"b", api.CapacityOnDemand); (o.Unavailable != "") != want {
				t.Errorf("%s: unavailable = %q", name, o.Unavailable)
			}
		}
		if d := f.launch(t, order("launch-2", 1, onDemand("m5.xlarge", "a"))); len(d.Instances) != 1 {
			t.Errorf("what is left of the quota is not used: %+v", d)
		}
	})
	t.Run("no free address", func(t *testing.T) {
		f := start(t)
		subnet := f.market(t, nil).Status.Subnets
		for _, s := range subnet {
			if s.Zone == testRegion+"a" {
				if err := f.account.SetFreeAddresses(s.ID, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"), onDemand("m5.xlarge", "b")))
		if len(d.Instances) != 1 || d.Instances[0].Zone != testRegion+"b" || d.Refusals[0].Reason != offer.RefusedAddresses {
			t.Errorf("delivery = %+v", d)
		}
		for _, o := range find(t, f.market(t, nil), "m5.large").Offerings {
			if full := o.Unavailable != ""; full != (o.Zone == testRegion+"a") {
				t.Errorf("%s: unavailable = %q", o.Zone, o.Unavailable)
			}
		}
	})
	t.Run("too few free addresses for the pods of a machine", func(t *testing.T) {
		f := start(t)
		for _, s := range f.market(t, nil).Status.Subnets {
			if s.Zone == testRegion+"a" {
				must(t, f.account.SetFreeAddresses(s.ID, 3))
			}
		}
		f.network.Forget()
		d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"), onDemand("m5.large", "b")))
		if len(d.Instances) != 1 || d.Instances[0].Zone != testRegion+"b" {
			t.Errorf("delivery = %+v, want a machine in the other zone", d)
		}
		if d := f.launch(t, order("launch-2", 1, onDemand("m5.large", "a"))); len(d.Instances) != 1 {
			t.Errorf("delivery = %+v, want a machine where there is no other zone", d)
		}
	})
	t.Run("addresses in several subnets of a zone", func(t *testing.T) {
		f := start(t)
		o := order("launch-1", 10, onDemand("m5.large", "a"), onDemand("m5.xlarge", "a")) // with 20 and 30 addresses
		o.Node.Profile = &api.NodeProfile{SubnetSelector: map[string]string{"Name": "prod-private-" + testRegion + "a,prod-public-" + testRegion + "a"}}
		free := []int{130, 100}
		for i, s := range f.market(t, o.Node.Profile).Status.Subnets {
			must(t, f.account.SetFreeAddresses(s.ID, free[i]))
		}
		f.network.Forget()
		d := f.launch(t, o)
		bought := map[string]int{}
		for _, i := range d.Instances {
			bought[i.SubnetID]++
			if i.InstanceType != "m5.large" {
				t.Errorf("bought %s instead of what was planned", i.InstanceType)
			}
		}
		if got := slices.Sorted(maps.Values(bought)); !slices.Equal(got, []int{4, 6}) {
			t.Errorf("%v machines in the subnets, want as many as there are addresses for", got)
		}
	})
	t.Run("a permission is missing", func(t *testing.T) {
		f := start(t)
		role := f.restricted(t, `{"Effect":"Allow","Action":["ec2:Describe*","ec2:CreateLaunchTemplate","ec2:CreateFleet","ec2:CreateTags","eks:DescribeCluster","ssm:GetParameters"],"Resource":"*"}`)
		d, err := role.Launch(t.Context(), order("launch-1", 1, onDemand("m5.large", "a")))
		const want = "the agent's role lacks the permission ec2:RunInstances on arn:aws:ec2:"
		if !offer.IsPermanent(err) || !strings.Contains(err.Error(), want) || len(d.Refusals) > 0 {
			t.Errorf("delivery = %+v, %v; want a permanent error with %q", d, err, want)
		}
		if why := role.held(t, onDemand("m5.large", "a"), nil); why != "" {
			t.Errorf("the offering is held back: %s", why)
		}
	})
	t.Run("a permission that only some need is missing", func(t *testing.T) {
		f := start(t)
		f.account.Inject(cloud.Fault{Code: "UnauthorizedOperation", InstanceType: "m5.large"})
		o := order("launch-1", 1, onDemand("m5.large", "a"), onDemand("m5.xlarge", "a"))
		o.Node.Profile = &api.NodeProfile{Tags: map[string]string{"stage": "test"}}
		d := f.launch(t, o)
		if len(d.Instances) != 1 || len(d.Refusals) != 1 || d.Refusals[0].Reason != offer.RefusedUnauthorized {
			t.Errorf("delivery = %+v, want the other machine", d)
		}
		if mine, others := f.held(t, o.Candidates[0], o.Node.Profile), f.held(t, o.Candidates[0], nil); mine == "" || others != "" {
			t.Errorf("the offering is held back from the profile for %q, and from others for %q", mine, others)
		}
	})
	t.Run("a role that may not be passed", func(t *testing.T) {
		if !refusal.Misconfigured("UnauthorizedOperation", "User x is not authorized to perform: iam:PassRole on resource: role/y") || refusal.Misconfigured("UnauthorizedOperation", "ec2:RunInstances") {
			t.Error("it is not told from a permission that other offerings may not need")
		}
	})
	t.Run("no role for spot machines", func(t *testing.T) {
		f := start(t)
		create := f.writes.CreateFleet
		f.writes.CreateFleet = func(ctx context.Context, in *ec2.CreateFleetInput, o ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
			if in.SpotOptions != nil {
				return nil, &smithy.GenericAPIError{Code: refusal.CodeNoSpotRole}
			}
			return create(ctx, in, o...)
		}
		d := f.launch(t, order("launch-1", 1, spot("m5.large", "a"), onDemand("m5.large", "a")))
		if len(d.Instances) != 1 || d.Instances[0].CapacityType != api.CapacityOnDemand {
			t.Errorf("delivery = %+v, want an on-demand machine", d)
		}
	})
	t.Run("no image for the type", func(t *testing.T) {
		f := start(t)
		o := order("launch-1", 1, onDemand("m6g.large", "a"), onDemand("m5.xlarge", "a"))
		o.Node.Profile = &api.NodeProfile{AMIFamily: new(api.FamilyWindows2022)}
		d := f.launch(t, o)
		if len(d.Instances) != 1 || d.Refusals[0].Reason != offer.RefusedUnsupported {
			t.Errorf("delivery = %+v", d)
		}
		if it := find(t, f.market(t, nil), "m6g.large"); it.OfferingIn(testRegion+"a", api.CapacityOnDemand).Unavailable != "" {
			t.Error("the offering is held back from another profile")
		}
	})
	t.Run("a profile that EC2 has not heard of yet", func(t *testing.T) {
		f := start(t)
		o := order("launch-1", 1, onDemand("m5.large", "a"), onDemand("m5.xlarge", "a"))
		o.Node.Profile = &api.NodeProfile{InstanceProfile: new("late")}
		if d, err := f.Launch(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Invalid IAM Instance Profile name") || len(d.Refusals) > 0 {
			t.Errorf("delivery = %+v, %v", d, err)
		}
		if why := f.held(t, onDemand("m5.large", "a"), o.Node.Profile); why != "" {
			t.Errorf("the offering is held back: %s", why)
		}
	})
	t.Run("only one offering does not go with the image", func(t *testing.T) {
		f := start(t)
		f.account.Inject(cloud.Fault{Code: "InvalidParameterCombination", InstanceType: "m5.large"})
		f.account.Inject(cloud.Fault{Code: "InsufficientInstanceCapacity", InstanceType: "c5.large"})
		d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"), onDemand("c5.large", "a"), spot("r5.large", "a")))
		if len(d.Instances) != 1 || len(d.Refusals) != 2 {
			t.Errorf("delivery = %+v, want the spot machine", d)
		}
		for _, r := range d.Refusals {
			if want := map[string]offer.RefusalReason{"m5.large": offer.RefusedOther, "c5.large": offer.RefusedCapacity}[r.Candidate.InstanceType]; r.Reason != want {
				t.Errorf("%s: reason %s, want %s", r.Candidate.InstanceType, r.Reason, want)
			}
		}
	})
	t.Run("broken", func(t *testing.T) {
		f := start(t)
		f.account.Inject(cloud.Fault{Service: "ec2", Action: "CreateFleet", Code: "InvalidParameterValue"})
		if d, err := f.Launch(t.Context(), order("launch-1", 1, onDemand("m5.large", "a"))); err == nil || len(d.Instances) > 0 {
			t.Errorf("delivery = %+v, %v", d, err)
		}
	})
}

func TestThrottledLaunchIsRetried(t *testing.T) {
	f := start(t)
	f.account.Inject(cloud.Fault{Service: "ec2", Action: "CreateFleet", Code: "RequestLimitExceeded", Times: 2})
	d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	if len(d.Instances) != 1 || f.calls("CreateFleet", "RequestLimitExceeded") != 2 {
		t.Errorf("delivery = %+v", d)
	}
}

// EC2 may throttle the launches of a fleet instead of the call. That says nothing about the offerings.
func TestThrottledLaunchesOfAFleet(t *testing.T) {
	f := start(t)
	lift := f.account.Inject(cloud.Fault{Code: refusal.CodeThrottled, InstanceType: "*", Times: 2})
	d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"), onDemand("m5.xlarge", "a")))
	if len(d.Instances) != 1 || d.Instances[0].InstanceType != "m5.large" || len(d.Refusals) != 0 {
		t.Errorf("delivery = %+v, want the first machine and no refusal", d)
	}
	lift()
	f.account.Inject(cloud.Fault{Code: refusal.CodeThrottled, InstanceType: "*"})
	candidate := onDemand("m5.large", "b")
	l, err := f.Cloud.newLaunch(t.Context(), new(order("launch-2", 1, candidate)))
	must(t, err)
	if err := l.askFleet(t.Context(), maxRounds-1); !offer.IsPermanent(err) || !strings.Contains(err.Error(), refusal.CodeThrottled) {
		t.Errorf("after the last round: %v, want a permanent error that says why", err)
	}
	if why := f.held(t, candidate, nil); why != "" || len(l.candidates) != 1 {
		t.Errorf("the offering is held back: %q", why)
	}
}

func TestNewInstancesAreSeenLate(t *testing.T) {
	f := start(t)
	f.account.SetBehaviour(cloud.Behaviour{ReadLag: time.Minute, TerminatedVisible: time.Hour})
	go func() {
		eventually(t, "a first look", func() bool { return f.calls("DescribeInstances", "") > 0 })
		f.clock.Step(2 * time.Minute)
	}()
	d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	if len(d.Instances) != 1 || d.Instances[0].NodeName == "" {
		t.Errorf("delivery = %+v, want an instance with its name", d)
	}
}

func TestAtMostSixtyTypes(t *testing.T) {
	f := startWith(t, offer.EmbeddedCSV())
	var candidates []offer.Candidate
	for _, it := range f.market(t, nil).Types {
		for _, o := range it.Offerings {
			if o.CapacityType == api.CapacityOnDemand {
				candidates = append(candidates, offer.Candidate{InstanceType: it.Name, Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price})
			}
		}
	}
	l, err := f.Cloud.newLaunch(t.Context(), new(order("launch-1", 1, candidates...)))
	if err != nil {
		t.Fatal(err)
	}
	request, err := l.prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for _, o := range request.overrides {
		types[o.candidate.InstanceType] = true
	}
	if len(types) > maxTypes || len(request.overrides) > maxOverrides || len(request.templates) > maxTemplates {
		t.Errorf("%d types, %d overrides, %d templates", len(types), len(request.overrides), len(request.templates))
	}
	if request.overrides[0].candidate != candidates[0] {
		t.Error("the best candidate is not among them")
	}
}

func TestOwnLaunchTemplate(t *testing.T) {
	f := start(t).asAgent(t)
	image := f.market(t, nil).Status.AMIs[0].ID
	ofCluster := map[string]string{api.TagClusterPrefix + "prod": owned}
	_, err := f.admin.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("mine"), LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: &image, TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: tagList(ofCluster)}},
		},
		TagSpecifications: []types.TagSpecification{tagged(types.ResourceTypeLaunchTemplate, ofCluster)},
	})
	must(t, err)
	o := order("launch-spot", 1, spot("m5.large", "a"))
	o.Node.Profile = &api.NodeProfile{LaunchTemplate: new("mine")}
	if d := f.launch(t, o); len(d.Instances) != 1 {
		t.Errorf("spot: delivery = %+v", d)
	}
	o.LaunchID, o.Candidates = "launch-1", []offer.Candidate{onDemand("m5.large", "a"), onDemand("m5.xlarge", "a")}
	if d := f.launch(t, o); len(d.Instances) != 1 || d.Instances[0].Tags[api.TagManagedBy] != "prod" {
		t.Errorf("delivery = %+v", d)
	}
	if got := len(f.templates(t)); got != 1 {
		t.Errorf("launch templates = %d, want only the user's", got)
	}
	_, err = f.admin.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: awssdk.String("mine")})
	must(t, err)
	o.LaunchID = "launch-2"
	if d, err := f.Launch(t.Context(), o); !offer.IsPermanent(err) || len(d.Refusals) > 0 {
		t.Errorf("without it: delivery = %+v, %v, want a permanent error", d, err)
	}
	if why := f.held(t, o.Candidates[0], o.Node.Profile); why != "" {
		t.Errorf("the offering is held back: %s", why)
	}
}

// User data that cannot be merged does not change by itself.
func TestUserDataThatCannotBeMerged(t *testing.T) {
	f := start(t)
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	o.Node.Profile = &api.NodeProfile{AMIFamily: new(api.FamilyBottlerocket), UserData: new("[settings.kubernetes]\nnode-labels = 1\n")}
	if d, err := f.Launch(t.Context(), o); !offer.IsPermanent(err) || !strings.Contains(err.Error(), "is not a table") || len(d.Refusals) > 0 {
		t.Errorf("delivery = %+v, %v, want a permanent error", d, err)
	}
}

func TestIncompleteOrders(t *testing.T) {
	f := start(t)
	for name, o := range map[string]offer.Order{
		"no id":         order("", 1, onDemand("m5.large", "a")),
		"no machines":   order("launch-1", 0, onDemand("m5.large", "a")),
		"no candidates": order("launch-1", 1),
	} {
		if _, err := f.Launch(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestClientToken(t *testing.T) {
	long := strings.Repeat("x", 100)
	seen := map[string]bool{}
	for _, id := range []string{"launch-1", long, long + "y"} {
		for round := range 3 {
			token := clientToken(id, round)
			if len(token) > maxToken || seen[token] {
				t.Errorf("token %q of %s in round %d is too long or not unique", token, id, round)
			}
			seen[token] = true
		}
	}
	if got := clientToken("launch-1", 0); got != "launch-1" {
		t.Errorf("first token = %s, want the launch id", got)
	}
	if got := clientToken("launch-1", 1); got != fmt.Sprint("launch-1-", 2) {
		t.Errorf("second token = %s", got)
	}
}
