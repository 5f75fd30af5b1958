package aws

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestWhatNodesShowIsPredictedFromThenOn(t *testing.T) {
	f := start(t)
	market := f.market(t, nil)
	before := find(t, market, "m5.large")
	image, _ := before.Label(api.LabelInstanceAMIID)
	observe := func(capacity, allocatable int64, kubelet *api.KubeletConfiguration) {
		f.Learn(offer.Observed{
			InstanceType: "m5.large", ImageID: image, Kubelet: kubelet,
			Capacity:    amount.List{amount.Memory: capacity, amount.CPU: 2000},
			Allocatable: amount.List{amount.Memory: allocatable, amount.CPU: 1930},
		})
	}
	const mebibyte = 1 << 20
	observe(7900*mebibyte, 7300*mebibyte, nil)
	observe(7890*mebibyte, 7301*mebibyte, nil) // the smallest counts
	observe(7950*mebibyte, 7400*mebibyte, nil)
	observe(7895*mebibyte, 5000*mebibyte, &api.KubeletConfiguration{MaxPods: new(int32(200))}) // of others

	after := find(t, f.market(t, nil), "m5.large")
	if got := after.Capacity[amount.Memory]; got != 7890*mebibyte {
		t.Errorf("capacity = %d MiB, want 7890", got/mebibyte)
	}
	if got := after.Allocatable()[amount.Memory]; got != 7300*mebibyte {
		t.Errorf("allocatable = %d MiB, want 7300", got/mebibyte)
	}
	if got := after.Allocatable()[amount.CPU]; got != 1930 {
		t.Errorf("allocatable CPU = %d, want 1930", got)
	}
	if got := before.Capacity[amount.Memory]; got == 7890*mebibyte {
		t.Error("a market that was handed out has changed")
	}
	want := []offer.Learnt{{InstanceType: "m5.large", ImageID: image, Memory: 7890 * mebibyte}}
	if diff := cmp.Diff(want, f.Learnt()); diff != "" {
		t.Errorf("learnt (-want +got):\n%s", diff)
	}
}

func TestNothingIsLearntFromNothing(t *testing.T) {
	f := start(t)
	before := f.market(t, nil)
	f.Learn(offer.Observed{InstanceType: "m5.large", ImageID: "ami-1"})
	f.Learn(offer.Observed{ImageID: "ami-1", Capacity: amount.List{amount.Memory: 1}})
	if len(f.Learnt()) > 0 {
		t.Errorf("learnt = %v", f.Learnt())
	}
	if diff := cmp.Diff(before, f.market(t, nil), cmpopts.IgnoreUnexported(offer.Index{}, offer.Values{})); diff != "" {
		t.Errorf("market (-before +after):\n%s", diff)
	}
}

func TestOtherImagesAndTypesKeepTheirEstimate(t *testing.T) {
	f := start(t)
	before := f.market(t, nil)
	f.Learn(offer.Observed{InstanceType: "m5.large", ImageID: "ami-other", Capacity: amount.List{amount.Memory: 1 << 30}})
	if diff := cmp.Diff(before.Types, f.market(t, nil).Types); diff != "" {
		t.Errorf("types (-before +after):\n%s", diff)
	}
}

// File systems are smaller than their volumes. What a node has shown holds for the volumes of its profile.
func TestStorageIsLearnt(t *testing.T) {
	f := start(t)
	larger := &api.NodeProfile{BlockDeviceMappings: []api.BlockDeviceMapping{{
		DeviceName: new("/dev/xvda"), EBS: &api.BlockDevice{VolumeSize: ptr.To(resource.MustParse("100Gi"))},
	}}}
	storage := func(profile *api.NodeProfile) int64 {
		it := find(t, f.market(t, profile), "m5.large")
		return it.Allocatable()[amount.EphemeralStorage]
	}
	market, other := f.market(t, nil), storage(larger)
	it := find(t, market, "m5.large")
	image, _ := it.Label(api.LabelInstanceAMIID)
	shown := maps.Clone(it.Allocatable())
	shown[amount.EphemeralStorage] -= 12308 << 10
	f.Learn(offer.Observed{
		InstanceType: "m5.large", ImageID: image, Capacity: it.Capacity, Allocatable: shown,
	})
	if got, want := storage(nil), shown[amount.EphemeralStorage]; got != want {
		t.Errorf("storage = %d, want %d as the node has shown", got, want)
	}
	if got := storage(larger); got != other {
		t.Errorf("storage with a larger volume = %d, want %d as before", got, other)
	}
}

// The size of a volume may be known only to an image, a snapshot or a launch template, and local disks may be
// joined by user data.
func TestStorageThatIsLargerThanEstimatedIsLearnt(t *testing.T) {
	f := start(t)
	own := &api.NodeProfile{LaunchTemplate: new("mine")}
	market := f.market(t, own)
	before := find(t, market, "m5.large")
	shown := maps.Clone(before.Allocatable())
	shown[amount.EphemeralStorage] += 180 << 30
	f.Learn(offer.Observed{
		InstanceType: "m5.large", ImageID: "ami-mine", Profile: own, Capacity: before.Capacity, Allocatable: shown,
	})
	after := find(t, f.market(t, own), "m5.large")
	if got, want := after.Allocatable()[amount.EphemeralStorage], shown[amount.EphemeralStorage]; got != want {
		t.Errorf("storage = %d, want %d as the node has shown", got, want)
	}
}

// A device plugin may share devices, and user data may reserve huge pages. A broken device says nothing about other
// nodes, nor does what a program of the cluster announces about machines.
func TestDevicesAndHugePagesAreLearnt(t *testing.T) {
	f := start(t)
	const gpu, huge = "nvidia.com/gpu", "hugepages-2Mi"
	reserving := &api.NodeProfile{UserData: new("#!/bin/sh\n/reserve")}
	before := find(t, f.market(t, reserving), "g5.xlarge")
	learn := func(profile *api.NodeProfile, gpus, pages int64) {
		image, _ := before.Label(api.LabelInstanceAMIID)
		shown := before.Allocatable().Plus(amount.List{"example.com/fuse": 100, huge: pages})
		shown[gpu] = gpus
		f.Learn(offer.Observed{Provisioner: "default", InstanceType: "g5.xlarge", ImageID: image, Profile: profile, Capacity: before.Capacity, Allocatable: shown})
	}
	learn(reserving, 4, 1<<30)
	learn(nil, 0, 0)
	for name, c := range map[string]struct {
		profile *api.NodeProfile
		gpus    int64
		pages   int64
	}{"shared": {reserving, 4, 1 << 30}, "broken": {nil, 1, 0}} {
		after := find(t, f.market(t, c.profile), "g5.xlarge")
		got := after.Allocatable()
		if got[gpu] != c.gpus || got[huge] != c.pages || got["example.com/fuse"] != 0 {
			t.Errorf("%s: %v, want %d GPUs and %d bytes of huge pages", name, got, c.gpus, c.pages)
		}
	}
}

// Provisioners with the same node profile may run different device plugins, which the labels of their nodes choose.
func TestDevicesAreLearntForTheirProvisioner(t *testing.T) {
	f := start(t)
	const gpu = "nvidia.com/gpu"
	gpus := func(name string) int64 {
		m, err := f.Market(t.Context(), provisioner(name), nil)
		if err != nil {
			t.Fatal(err)
		}
		it := find(t, m, "g5.xlarge")
		return it.Allocatable()[gpu]
	}
	before := find(t, f.market(t, nil), "g5.xlarge")
	image, _ := before.Label(api.LabelInstanceAMIID)
	learn := func(name string, gpus int64) {
		shown := before.Allocatable()
		shown[gpu] = gpus
		f.Learn(offer.Observed{Node: name, Provisioner: name, InstanceType: "g5.xlarge", ImageID: image, Capacity: before.Capacity, Allocatable: shown})
	}
	learn("shared", 4)
	if whole, shared := gpus("whole"), gpus("shared"); whole != 1 || shared != 4 {
		t.Errorf("%d GPUs without a plugin that shares them, and %d with one, want 1 and 4", whole, shared)
	}
	learn("whole", 1)
	if whole, shared := gpus("whole"), gpus("shared"); whole != 1 || shared != 4 {
		t.Errorf("with nodes of both, %d GPUs without a plugin that shares them, and %d with one, want 1 and 4", whole, shared)
	}
}

// Where two nodes have fewer devices than their type promises, so has the next one. One node alone may be broken, and a
// later one that has more corrects what was learnt.
func TestFewerDevicesAreLearnt(t *testing.T) {
	f := start(t)
	const gpu = "nvidia.com/gpu"
	market := f.market(t, nil)
	before := find(t, market, "g5.12xlarge")
	image, _ := before.Label(api.LabelInstanceAMIID)
	for _, step := range []struct {
		node       string
		have, want int64
	}{{"a", 2, 4}, {"a", 2, 4}, {"b", 1, 2}, {"c", 0, 2}, {"d", 3, 3}, {"e", 4, 4}, {"f", 1, 4}} {
		shown := before.Allocatable().Plus(nil)
		shown[gpu] = step.have
		f.Learn(offer.Observed{
			Node: step.node, Provisioner: "default", InstanceType: "g5.12xlarge", ImageID: image, Capacity: before.Capacity, Allocatable: shown,
		})
		after := find(t, f.market(t, nil), "g5.12xlarge")
		if got := after.Allocatable()[gpu]; got != step.want {
			t.Errorf("after node %s with %d GPUs: %d are promised, want %d", step.node, step.have, got, step.want)
		}
	}
}

// User data may say how many pods the kubelet takes, which nobody else's does.
func TestPodsAreLearnt(t *testing.T) {
	f := start(t)
	few := &api.NodeProfile{UserData: new("#!/bin/sh\n/few-pods")}
	pods := func(profile *api.NodeProfile) int64 {
		it := find(t, f.market(t, profile), "m5.large")
		return it.Allocatable()[amount.Pods]
	}
	market, other := f.market(t, few), pods(nil)
	it := find(t, market, "m5.large")
	image, _ := it.Label(api.LabelInstanceAMIID)
	learn := func(pods int64) {
		f.Learn(offer.Observed{
			InstanceType: "m5.large", ImageID: image, Profile: few,
			Capacity:    amount.List{amount.Memory: it.Capacity[amount.Memory]},
			Allocatable: amount.List{amount.Pods: pods},
		})
	}
	learn(110) // the network interfaces have no addresses for so many
	if got := pods(few); got != other {
		t.Errorf("%d pods, want %d as the interfaces allow", got, other)
	}
	learn(8)
	if got := pods(few); got != 8 {
		t.Errorf("%d pods, want 8 as the node has shown", got)
	}
	if got := pods(nil); got != other {
		t.Errorf("%d pods with other user data, want %d as before", got, other)
	}
}

// User data may say what the kubelet reserves. Nodes of other profiles reserve something else.
func TestWhatUserDataReservesIsLearntForItsProfile(t *testing.T) {
	f := start(t)
	reserving := &api.NodeProfile{UserData: new("#!/bin/sh\n/reserve")}
	memory := func(profile *api.NodeProfile) int64 {
		it := find(t, f.market(t, profile), "m5.large")
		return it.Allocatable()[amount.Memory]
	}
	template := &api.NodeProfile{LaunchTemplate: new("mine")}
	market, other, own := f.market(t, reserving), memory(nil), memory(template)
	it := find(t, market, "m5.large")
	image, _ := it.Label(api.LabelInstanceAMIID)
	const shown = 5 << 30
	f.Learn(offer.Observed{
		InstanceType: "m5.large", ImageID: image, Profile: reserving,
		Capacity: amount.List{amount.Memory: it.Capacity[amount.Memory]}, Allocatable: amount.List{amount.Memory: shown},
	})
	if got := memory(reserving); got != shown {
		t.Errorf("memory = %d, want %d as the node has shown", got, int64(shown))
	}
	if got := memory(nil); got != other {
		t.Errorf("memory with other user data = %d, want %d as before", got, other)
	}
	if got := memory(template); got != own {
		t.Errorf("memory with a launch template = %d, want %d as before", got, own)
	}
}

// Without user data, the agent's options decide how many pods a kubelet takes. A node of before they
// were changed says nothing about the next one.
func TestPodsThatTheAgentSetsAreNotLearnt(t *testing.T) {
	f := start(t, func(o *Options) { o.PrefixDelegation = true })
	market := f.market(t, nil)
	it := find(t, market, "m5.large")
	image, _ := it.Label(api.LabelInstanceAMIID)
	want := it.Allocatable()[amount.Pods]
	f.Learn(offer.Observed{
		InstanceType: "m5.large", ImageID: image,
		Capacity:    amount.List{amount.Memory: it.Capacity[amount.Memory]},
		Allocatable: amount.List{amount.Pods: 29},
	})
	after := find(t, f.market(t, nil), "m5.large")
	if got := after.Allocatable()[amount.Pods]; got != want || got <= 29 {
		t.Errorf("%d pods, want %d as with prefixes", got, want)
	}
}

// A launch template of the user's own may name any image, and its user data any reservation: what
// nodes of a type have shown is what is predicted.
func TestOwnLaunchTemplatesPredictWhatNodesShow(t *testing.T) {
	f := start(t)
	own := &api.NodeProfile{LaunchTemplate: new("mine")}
	market := f.market(t, own)
	before := find(t, market, "m5.large")
	memory := before.Allocatable()[amount.Memory] - 1<<30
	f.Learn(offer.Observed{
		InstanceType: "m5.large", ImageID: "ami-mine", Profile: own,
		Capacity:    amount.List{amount.Memory: before.Capacity[amount.Memory], amount.CPU: 2000},
		Allocatable: amount.List{amount.Memory: memory, amount.CPU: 1500},
	})
	shown := find(t, f.market(t, own), "m5.large")
	after := shown.Allocatable()
	if after[amount.Memory] != memory || after[amount.CPU] != 1500 {
		t.Errorf("allocatable = %v, want %d bytes and 1500m", after, memory)
	}
}
