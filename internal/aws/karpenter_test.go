package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// karpenters has machines with the tags that Karpenter gives them.
func (f *fixture) karpenters(t *testing.T, count int) []string {
	t.Helper()
	bought := f.launch(t, order("launch-of-karpenter", count, onDemand("m5.large", "a"))).Instances
	for _, i := range bought {
		f.loseTags(t, i.ID, api.TagManagedBy, api.LabelProvisioner, api.TagLaunchID)
		_, err := f.admin.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{i.ID}, Tags: tagList(map[string]string{
			api.LabelNodePool: "general", "karpenter.k8s.aws/ec2nodeclass": "general", "eks:eks-cluster-name": "prod",
		})})
		must(t, err)
	}
	return ids(bought)
}

// oldKarpenters has machines with the tags that Karpenter before 1.0 gives them.
func (f *fixture) oldKarpenters(t *testing.T, count int) []string {
	t.Helper()
	want := f.karpenters(t, count)
	_, err := f.admin.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: want, Tags: tagList(map[string]string{"karpenter.sh/managed-by": "prod"})})
	must(t, err)
	for _, id := range want {
		f.loseTags(t, id, "eks:eks-cluster-name")
	}
	return want
}

// takeOver takes machines of Karpenter over, as a whole.
func (f *fixture) takeOver(t *testing.T, want []string) {
	t.Helper()
	found, err := f.Karpenters(t.Context())
	must(t, err)
	if !slices.Equal(ids(found), want) || found[0].Provisioner != "general" || found[0].Owned {
		t.Fatalf("machines of Karpenter: %+v", found)
	}
	done, err := f.TakeOver(t.Context(), "general", want)
	must(t, err)
	if !slices.Equal(done, want) {
		t.Errorf("tagged %v of %v", done, want)
	}
	if found, err = f.Karpenters(t.Context()); err != nil || len(found) != len(want) || !found[0].Owned {
		t.Errorf("half way, machines of Karpenter: %+v, %v", found, err)
	}
	done, err = f.Disown(t.Context(), want)
	must(t, err)
	if !slices.Equal(done, want) {
		t.Errorf("disowned %v of %v", done, want)
	}
}

// A machine of Karpenter is one of the cluster's own once it was taken over, and
// Karpenter does not find it any more.
func TestTakeOver(t *testing.T) {
	for name, bought := range map[string]func(*fixture, *testing.T, int) []string{
		"of a release before 1.0": (*fixture).oldKarpenters,
		"of a later release":      (*fixture).karpenters,
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t).asAgent(t)
			f.takeOver(t, bought(f, t, 3))
			if found, err := f.Karpenters(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("machines of Karpenter: %+v, %v", found, err)
			}
			list, err := f.Instances(t.Context())
			must(t, err)
			for _, i := range list {
				if !i.Owned || i.Provisioner != "general" || i.LaunchID != api.LaunchKarpenter || i.Tags["karpenter.k8s.aws/ec2nodeclass"] != "general" {
					t.Errorf("instance %+v", i)
				}
			}
			gone, err := f.Terminate(t.Context(), ids(list))
			if err != nil || len(gone) != 3 {
				t.Errorf("ended %v, %v", gone, err)
			}
		})
	}
}

// One machine that is not there any more keeps the others from nothing.
func TestTakeOverBesidesOneThatIsGone(t *testing.T) {
	f := start(t)
	there := f.karpenters(t, 2)
	done, err := f.TakeOver(t.Context(), "general", append([]string{"i-0123456789abcdef0"}, there...))
	if err == nil || !slices.Equal(done, there) {
		t.Errorf("tagged %v of %v: %v", done, there, err)
	}
}

// A machine can have 50 tags, so that one of those that are taken over may have no room for more.
func TestTakeOverBesidesOneThatIsRefused(t *testing.T) {
	f := start(t)
	all := f.karpenters(t, 3)
	create := f.writes.CreateTags
	f.writes.CreateTags = func(ctx context.Context, in *ec2.CreateTagsInput, o ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
		if slices.Contains(in.Resources, all[0]) {
			return nil, &smithy.GenericAPIError{Code: "TagLimitExceeded"}
		}
		return create(ctx, in, o...)
	}
	done, err := f.TakeOver(t.Context(), "general", all)
	if err == nil || !strings.Contains(err.Error(), all[0]) || !slices.Equal(done, all[1:]) {
		t.Errorf("tagged %v of %v: %v", done, all, err)
	}
}

// A missing permission concerns all machines: the calls and the text of the error do not grow with their number.
func TestTakeOverWithoutThePermission(t *testing.T) {
	f := start(t)
	calls := 0
	f.writes.CreateTags = func(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
		calls++
		return nil, &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "You are not authorized."}
	}
	var all []string
	for i := range idsPerCall {
		all = append(all, fmt.Sprintf("i-%017x", i))
	}
	done, err := f.TakeOver(t.Context(), "general", all)
	if err == nil || len(done) > 0 || strings.Count(err.Error(), "not authorized") != 1 {
		t.Errorf("tagged %v: %v", done, err)
	}
	if calls != 4 {
		t.Errorf("%d calls, want one for all and three for one each", calls)
	}
}

// Machines that are refused for what they are keep the others from nothing, however many they are.
func TestTakeOverBesidesManyThatAreGone(t *testing.T) {
	f := start(t)
	there := f.karpenters(t, 1)
	all := slices.Clone(there)
	for i := range 6 {
		all = append(all, fmt.Sprintf("i-%017x", i))
	}
	done, err := f.TakeOver(t.Context(), "general", all)
	if err == nil || !slices.Equal(done, there) {
		t.Errorf("tagged %v of %v: %v", done, there, err)
	}
}

// The agent's policies take over no machine but those of Karpenter.
func TestOnlyMachinesOfKarpenterAreTakenOver(t *testing.T) {
	f := start(t).asAgent(t)
	other := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"))).Instances[0]
	f.loseTags(t, other.ID, api.TagManagedBy, api.LabelProvisioner, api.TagLaunchID) // as the machines of node groups
	if done, err := f.TakeOver(t.Context(), "general", []string{other.ID}); err == nil {
		t.Errorf("took over %v", done)
	}
	if found := f.found(t, other.ID)[0]; found.Owned || found.State == offer.StateGone {
		t.Errorf("instance %+v", found)
	}
	for release, tag := range map[string]string{"before 1.0": api.TagManagedBy, "1.0": api.TagEKSCluster} {
		theirs := f.karpenters(t, 1)
		f.loseTags(t, theirs[0], api.TagClusterPrefix+"prod", api.TagEKSCluster)
		_, err := f.admin.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: theirs, Tags: tagList(map[string]string{api.TagClusterPrefix + "Prod": owned, tag: "Prod"})})
		must(t, err)
		if done, err := f.TakeOver(t.Context(), "general", theirs); err == nil {
			t.Errorf("%s: took over %v of the cluster Prod", release, done)
		}
	}
}

// An agent that does not serve NodePools may run beside Karpenter. It has no rights to the machines of any release.
func TestMachinesOfKarpenterAreLeftAlone(t *testing.T) {
	f := start(t)
	agent := f.asRole(t, agentPolicies(t, func(a *policy.Agent) { a.NodePools = false }))
	for release, bought := range map[string]func(*fixture, *testing.T, int) []string{"before 1.0": (*fixture).oldKarpenters, "1.0": (*fixture).karpenters} {
		theirs := bought(f, t, 1)
		if done, err := agent.TakeOver(t.Context(), "general", theirs); err == nil {
			t.Errorf("%s: took over %v", release, done)
		}
		if done, err := agent.Disown(t.Context(), theirs); err == nil {
			t.Errorf("%s: disowned %v", release, done)
		}
	}
}

// The way back: every release of Karpenter finds the machine, and it is none of the agent's any more.
func TestGiveBack(t *testing.T) {
	f := start(t)
	i := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"))).Instances[0]
	for range 2 { // each step can be repeated
		must(t, f.GiveBack(t.Context(), i.ID, "general", "default"))
		must(t, f.LetGo(t.Context(), i.ID))
	}
	for _, i := range must2(f.Instances(t.Context()))(t) {
		if i.LaunchID != "" || i.Provisioner != "" { // the agent leaves one without a launch id alone
			t.Errorf("the agent still lists %+v", i)
		}
	}
	found, err := f.Karpenters(t.Context())
	must(t, err)
	if len(found) != 1 || found[0].Provisioner != "general" || found[0].Owned {
		t.Fatalf("Karpenter finds %+v", found)
	}
	for key, want := range map[string]string{
		"karpenter.k8s.aws/ec2nodeclass": "default", "kubernetes.io/cluster/prod": "owned",
		"karpenter.sh/managed-by": "prod", // before 1.0
		"eks:eks-cluster-name":    "prod",
	} {
		if got := found[0].Tags[key]; got != want {
			t.Errorf("tag %s = %q, want %q", key, got, want)
		}
	}
	f.takeOver(t, ids(found))
}
