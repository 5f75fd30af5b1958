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
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// foreign launches a machine that is not ours, with the tags.
func (f *fixture) foreign(t *testing.T, tags map[string]string) string {
	t.Helper()
	m := f.market(t, nil)
	in := &ec2.RunInstancesInput{
		ImageId: &m.Status.AMIs[0].ID, InstanceType: "m5.large", SubnetId: &m.Status.Subnets[0].ID,
		MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
	}
	if len(tags) > 0 {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tagList(tags)}}
	}
	out, err := f.admin.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return *out.Instances[0].InstanceId
}

func TestInstancesAreThoseOfTheCluster(t *testing.T) {
	f := start(t)
	launched := f.launch(t, order("launch-1", 3, spot("m5.large", "a"))).Instances
	f.foreign(t, nil)
	f.foreign(t, map[string]string{"karpenter.sh/managed-by": "other", "kubernetes.io/cluster/other": "owned"})
	f.foreign(t, map[string]string{"kubernetes.io/cluster/prod": "owned"})
	got, err := f.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(launched, func(a, b offer.Instance) int { return strings.Compare(a.ID, b.ID) })
	if diff := cmp.Diff(launched, got, cmpopts.IgnoreFields(offer.Instance{}, "State")); diff != "" {
		t.Errorf("-launched +listed\n%s", diff)
	}
	if got[0].LaunchID != "launch-1" || got[0].Provisioner != "default" || got[0].CapacityType != "spot" {
		t.Errorf("instance = %+v", got[0])
	}
}

func TestStates(t *testing.T) {
	f := start(t)
	launched := ids(f.launch(t, order("launch-1", 2, onDemand("m5.large", "a"))).Instances)
	f.account.MarkRunning(launched[0])
	if _, err := f.Terminate(t.Context(), launched[1:]); err != nil {
		t.Fatal(err)
	}
	list, err := f.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]offer.InstanceState{}
	for _, i := range list {
		states[i.ID] = i.State
	}
	if states[launched[0]] != offer.StateRunning || states[launched[1]] != offer.StateStopping {
		t.Errorf("states = %v", states)
	}
	f.clock.Step(time.Minute)
	if list, err = f.Instances(t.Context()); err != nil {
		t.Fatal(err)
	}
	clear(states)
	for _, i := range list {
		states[i.ID] = i.State
	}
	if states[launched[0]] != offer.StateRunning || states[launched[1]] != offer.StateGone {
		t.Errorf("states after one has gone = %v", states)
	}
	if err := f.account.StopInstance(launched[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []offer.InstanceState{offer.StateStopping, offer.StateStopped} {
		if found := f.found(t, launched[0])[0]; found.State != want {
			t.Errorf("an instance that somebody stops is %s, want %s", found.State, want)
		}
		f.clock.Step(time.Minute)
	}
}

func TestInstancesOfSeveralPages(t *testing.T) {
	f := start(t, func(o *Options) { o.IgnoreENIs = true }) // so that all find addresses
	f.launch(t, order("launch-1", 1100, onDemand("m5.large", "a"), onDemand("m5.large", "b")))
	pages, describe := 0, f.listings.Instances
	f.listings.Instances = func(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
		pages++
		return describe(ctx, in, o...)
	}
	list, err := f.Instances(t.Context())
	if err != nil || len(list) != 1100 || pages != 2 {
		t.Errorf("%d instances on %d pages, %v; want 1100 on 2", len(list), pages, err)
	}
	if d := f.launch(t, order("launch-2", 250, onDemand("m5.large", "c"))); slices.ContainsFunc(d.Instances, func(i offer.Instance) bool { return i.NodeName == "" }) {
		t.Error("some of many instances have no name")
	}
}

func TestTerminateOnlyOurs(t *testing.T) {
	f := start(t)
	ours := ids(f.launch(t, order("launch-1", 2, onDemand("m5.large", "a"))).Instances)
	foreign := f.foreign(t, map[string]string{"kubernetes.io/cluster/other": "owned"})
	gone, err := f.Terminate(t.Context(), []string{ours[0], foreign})
	if err == nil || !strings.Contains(err.Error(), "terminate "+foreign+": it does not have the tags of cluster prod") {
		t.Errorf("error = %v", err)
	}
	if diff := cmp.Diff(ours[:1], gone); diff != "" {
		t.Errorf("gone: -want +got\n%s", diff)
	}
	var live []string
	for _, i := range f.live() {
		live = append(live, i.ID)
	}
	wantLive := []string{foreign, ours[1]}
	slices.Sort(wantLive)
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("still running: -want +got\n%s", diff)
	}
}

// An instance that EC2 leaves out of an answer runs on, so that its node must not go. One that EC2 does
// not know for a minute is gone.
func TestTerminateWhatEC2DoesNotList(t *testing.T) {
	f := start(t)
	id := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"))).Instances[0].ID
	leftOut, describe := true, f.reads.Instances
	f.reads.Instances = func(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
		if leftOut {
			return &ec2.DescribeInstancesOutput{}, nil
		}
		return describe(ctx, in, o...)
	}
	terminate := func(want bool) {
		t.Helper()
		gone, err := f.Terminate(t.Context(), []string{id})
		if err != nil || (len(gone) == 1) != want {
			t.Errorf("gone = %v, %v; want %t", gone, err, want)
		}
	}
	terminate(false)
	f.clock.Step(50 * time.Second)
	terminate(false)
	leftOut = false
	terminate(true)
	if len(f.live()) != 0 {
		t.Errorf("still running: %v", f.live())
	}
	leftOut = true
	terminate(false)
	f.clock.Step(time.Minute)
	terminate(true)
	terminate(true) // its node may not have gone yet
}

// If EC2 describes an instance and does not find it for its termination, it is not known to be gone.
func TestTerminateWhatEC2DoesNotFind(t *testing.T) {
	f := start(t)
	id := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"))).Instances[0].ID
	f.account.Inject(cloud.Fault{Service: "ec2", Action: "TerminateInstances", Code: "InvalidInstanceID.NotFound", Times: 1})
	if gone, err := f.Terminate(t.Context(), []string{id}); err == nil || len(gone) > 0 {
		t.Errorf("gone = %v, %v; want an error", gone, err)
	}
	if gone, err := f.Terminate(t.Context(), []string{id}); err != nil || len(gone) != 1 {
		t.Errorf("the next time: gone = %v, %v", gone, err)
	}
}

func TestTerminateTwice(t *testing.T) {
	f := start(t)
	ours := ids(f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"))).Instances)
	for range 2 {
		gone, err := f.Terminate(t.Context(), append(ours, ours...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ours, gone); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		f.clock.Step(time.Minute)
	}
}

func TestTerminateOneByOneWhenOneIsAProblem(t *testing.T) {
	f := start(t)
	ours := ids(f.launch(t, order("launch-1", 3, onDemand("m5.large", "a"))).Instances)
	f.account.Inject(cloud.Fault{Service: "ec2", Action: "TerminateInstances", Code: "InvalidInstanceID.NotFound", Times: 1})
	gone, err := f.Terminate(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ours, gone); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(f.live()) != 0 {
		t.Errorf("still running: %v", f.live())
	}
}

func TestTerminateNothing(t *testing.T) {
	f := start(t)
	before := len(f.account.Calls())
	if gone, err := f.Terminate(t.Context(), nil); err != nil || len(gone) != 0 {
		t.Errorf("gone = %v, %v", gone, err)
	}
	if len(f.account.Calls()) != before {
		t.Error("AWS was called for nothing")
	}
}

// loseTags has somebody remove tags from an instance.
func (f *fixture) loseTags(t *testing.T, id string, keys ...string) {
	t.Helper()
	in := &ec2.DeleteTagsInput{Resources: []string{id}}
	for _, key := range keys {
		in.Tags = append(in.Tags, types.Tag{Key: &key})
	}
	_, err := f.admin.DeleteTags(t.Context(), in)
	must(t, err)
}

func (f *fixture) found(t *testing.T, ids ...string) []offer.Instance {
	t.Helper()
	out, err := f.Find(t.Context(), ids)
	must(t, err)
	return out
}

// An instance that has lost tags is not listed, but found by its id; the tags are put
// back as long as what is left of them says that it is the cluster's.
func TestRetag(t *testing.T) {
	const cluster = api.TagClusterPrefix + "prod"
	cases := map[string]struct {
		lost []string
		ours bool
	}{
		"the cluster's tag":         {[]string{cluster}, true},
		"who manages it":            {[]string{api.TagManagedBy}, true},
		"all but who manages it":    {[]string{cluster, api.LabelProvisioner, api.TagLaunchID}, true},
		"all but the cluster's":     {[]string{api.TagManagedBy, api.LabelProvisioner, api.TagLaunchID}, false}, // as those of node groups
		"all that is the cluster's": {[]string{cluster, api.TagManagedBy}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			bought := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"))).Instances[0]
			f.loseTags(t, bought.ID, c.lost...)
			if list, err := f.Instances(t.Context()); err != nil || len(list) > 0 {
				t.Errorf("listed %v, %v", ids(list), err)
			}
			found := f.found(t, bought.ID)
			if len(found) != 1 || found[0].Owned || found[0].State == offer.StateGone {
				t.Fatalf("found %+v, want the instance, without its tags", found)
			}
			lost := found[0]
			lost.Provisioner, lost.LaunchID = bought.Provisioner, bought.LaunchID
			err := f.Retag(t.Context(), lost)
			if (err == nil) != c.ours {
				t.Fatalf("error = %v, ours: %t", err, c.ours)
			}
			back := f.found(t, bought.ID)[0]
			if c.ours && (!back.Owned || back.Provisioner != bought.Provisioner || back.LaunchID != bought.LaunchID) {
				t.Errorf("after that: %+v", back)
			}
			if !c.ours && back.Owned {
				t.Error("what may be somebody else's was claimed")
			}
		})
	}
	f := start(t)
	if found := f.found(t, "i-0123456789abcdef0"); len(found) > 0 {
		t.Errorf("found %v, which does not exist", found)
	}
	claimed := f.launch(t, order("launch-2", 1, onDemand("m5.large", "a"))).Instances[0]
	_, err := f.admin.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{claimed.ID}, Tags: tagList(map[string]string{api.TagManagedBy: "Prod"})})
	must(t, err)
	if err := f.Retag(t.Context(), f.found(t, claimed.ID)[0]); err == nil {
		t.Error("what another cluster manages was claimed")
	}
}

func TestSweep(t *testing.T) {
	f := start(t)
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	_, err := f.admin.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("packhorse/foreign"), LaunchTemplateData: &types.RequestLaunchTemplateData{KeyName: awssdk.String("key")},
	})
	if err != nil {
		t.Fatal(err)
	}
	sweep := func(want int, why string) {
		t.Helper()
		if err := f.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(f.templates(t)); got != want {
			t.Errorf("launch templates = %d, want %d: %s", got, want, why)
		}
	}
	sweep(2, "ours was just used")
	f.clock.Step(50 * time.Minute)
	f.launch(t, order("launch-2", 1, onDemand("m5.large", "a")))
	f.clock.Step(50 * time.Minute)
	sweep(2, "ours was used within the hour")
	f.clock.Step(20 * time.Minute)
	sweep(1, "nothing has used ours for an hour, and the other is not ours")
	if d := f.launch(t, order("launch-3", 1, onDemand("m5.large", "a"))); len(d.Instances) != 1 {
		t.Errorf("launch after the sweep = %+v", d)
	}
	f.clock.Step(2 * time.Hour)
	restarted := &fixture{Cloud: f.newCloud(t)}
	if err := restarted.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	sweepable := len(f.templates(t))
	f.clock.Step(2 * time.Hour)
	if err := restarted.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := len(f.templates(t)); sweepable != 2 || left != 1 {
		t.Errorf("after a restart %d templates, later %d, want 2 and 1", sweepable, left)
	}
}

func TestForget(t *testing.T) {
	f := start(t)
	other := order("launch-2", 1, onDemand("m5.large", "a"))
	other.Provisioner = "other"
	f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	f.launch(t, other)
	if got := len(f.templates(t)); got != 2 {
		t.Fatalf("launch templates = %d, want one for each provisioner", got)
	}
	if err := f.Forget(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	left := f.templates(t)
	if len(left) != 1 || tagMap(left[0].Tags)[api.LabelProvisioner] != "default" {
		t.Errorf("left = %+v, want the default provisioner's", left)
	}
	other.LaunchID = "launch-3"
	if d := f.launch(t, other); len(d.Instances) != 1 {
		t.Errorf("launch afterwards = %+v", d)
	}
}
