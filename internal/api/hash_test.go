package api

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

func hashed() *Provisioner {
	return &Provisioner{Spec: ProvisionerSpec{
		Labels:        map[string]string{"a": "1", "b": "2"},
		Annotations:   map[string]string{"c": "3"},
		Taints:        []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}, {Key: "y", Effect: corev1.TaintEffectNoExecute}},
		StartupTaints: []corev1.Taint{{Key: "z", Effect: corev1.TaintEffectNoExecute}},
		Requirements:  []Requirement{linux, amd64},
		KubeletConfiguration: &KubeletConfiguration{
			MaxPods:        ptr.To[int32](20),
			SystemReserved: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")},
		},
		Provider: &runtime.RawExtension{Raw: []byte(`{"instanceProfile":"nodes","subnetSelector":{"a":"b"}}`)},
	}}
}

// TestHashesStay pins the hashes: a change makes every node of every cluster drift.
func TestHashesStay(t *testing.T) {
	if got, want := hashed().Hash(), "ab18878305e5ed27"; got != want {
		t.Errorf("Provisioner.Hash() = %s, want %s", got, want)
	}
	if got, want := (&Provisioner{}).Hash(), "2ae1c1a5781c4580"; got != want {
		t.Errorf("Hash() of an empty Provisioner = %s, want %s", got, want)
	}
	if got, want := (&NodeProfile{}).Hash(), "ce3e2aa3e4488b20"; got != want {
		t.Errorf("Hash() of an empty NodeProfile = %s, want %s", got, want)
	}
}

func TestProvisionerHash(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ProvisionerSpec)
		drifts bool
	}{
		"labels":           {func(s *ProvisionerSpec) { s.Labels["a"] = "2" }, true},
		"annotations":      {func(s *ProvisionerSpec) { s.Annotations = nil }, true},
		"taints":           {func(s *ProvisionerSpec) { s.Taints[0].Value = "v" }, true},
		"startupTaints":    {func(s *ProvisionerSpec) { s.StartupTaints = nil }, true},
		"a taint's list":   {func(s *ProvisionerSpec) { s.Taints, s.StartupTaints = s.StartupTaints, s.Taints }, true},
		"kubelet settings": {func(s *ProvisionerSpec) { s.KubeletConfiguration.MaxPods = ptr.To[int32](30) }, true},
		"reserved":         {func(s *ProvisionerSpec) { s.KubeletConfiguration.SystemReserved["cpu"] = resource.MustParse("1") }, true},
		"instance profile": {func(s *ProvisionerSpec) { s.Provider.Raw = []byte(`{"instanceProfile":"others"}`) }, true},
		"broken provider":  {func(s *ProvisionerSpec) { s.Provider.Raw = []byte(`{"instanceProfile":1}`) }, true},

		"inline selectors":       {func(s *ProvisionerSpec) { s.Provider.Raw = []byte(`{"instanceProfile":"nodes"}`) }, false},
		"spelling of provider":   {func(s *ProvisionerSpec) { s.Provider.Raw = []byte(`{ "kind": "AWS", "instanceProfile": "nodes" }`) }, false},
		"requirements":           {func(s *ProvisionerSpec) { s.Requirements = nil }, false},
		"instanceTypes":          {func(s *ProvisionerSpec) { s.InstanceTypes = []string{"m5.large"} }, false},
		"podOverrides":           {func(s *ProvisionerSpec) { s.PodOverrides = []string{LabelZone} }, false},
		"labels of a NodePool":   {func(s *ProvisionerSpec) { s.Labels[LabelNodeClass], s.Labels[LabelRegistered] = "a", "true" }, false},
		"limits":                 {func(s *ProvisionerSpec) { s.Limits = &Limits{} }, false},
		"consolidation":          {func(s *ProvisionerSpec) { s.Consolidation = &Consolidation{Enabled: ptr.To(true)} }, false},
		"ttlSecondsAfterEmpty":   {func(s *ProvisionerSpec) { s.TTLSecondsAfterEmpty = ptr.To[int64](30) }, false},
		"ttlSecondsUntilExpired": {func(s *ProvisionerSpec) { s.TTLSecondsUntilExpired = ptr.To[int64](30) }, false},
		"weight":                 {func(s *ProvisionerSpec) { s.Weight = ptr.To[int32](3) }, false},
		"disruption":             {func(s *ProvisionerSpec) { s.Disruption = &Disruption{} }, false},
		"podBinding":             {func(s *ProvisionerSpec) { s.PodBinding = BindScheduler }, false},
		"order of taints":        {func(s *ProvisionerSpec) { s.Taints[0], s.Taints[1] = s.Taints[1], s.Taints[0] }, false},
		"spelling of amounts": {func(s *ProvisionerSpec) {
			s.KubeletConfiguration.SystemReserved = corev1.ResourceList{"memory": resource.MustParse("1024Mi"), "cpu": resource.MustParse("0.5")}
		}, false},
		"empty instead of missing": {func(s *ProvisionerSpec) { s.KubeletConfiguration.EvictionHard = map[string]string{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := hashed()
			c.change(&changed.Spec)
			if drifts := changed.Hash() != hashed().Hash(); drifts != c.drifts {
				t.Errorf("the hash changed: %t, want %t", drifts, c.drifts)
			}
		})
	}
	empty := &Provisioner{Spec: ProvisionerSpec{KubeletConfiguration: &KubeletConfiguration{}, Labels: map[string]string{}}}
	if empty.Hash() != (&Provisioner{}).Hash() {
		t.Error("empty settings count as a difference to none")
	}
}

func TestNodeProfileHash(t *testing.T) {
	profile := func() *NodeProfile {
		return &NodeProfile{
			SubnetSelector: map[string]string{"a": "b"},
			AMIFamily:      ptr.To(FamilyBottlerocket),
			Tags:           map[string]string{"team": "a"},
			BlockDeviceMappings: []BlockDeviceMapping{
				{DeviceName: ptr.To("/dev/xvda"), EBS: &BlockDevice{VolumeSize: ptr.To(resource.MustParse("4Gi"))}},
				{DeviceName: ptr.To("/dev/xvdb"), EBS: &BlockDevice{VolumeSize: ptr.To(resource.MustParse("20Gi"))}},
			},
		}
	}
	for name, c := range map[string]struct {
		change func(*NodeProfile)
		drifts bool
	}{
		"amiFamily":          {func(s *NodeProfile) { s.AMIFamily = nil }, true},
		"userData":           {func(s *NodeProfile) { s.UserData = ptr.To("x") }, true},
		"tags":               {func(s *NodeProfile) { s.Tags["team"] = "b" }, true},
		"instanceProfile":    {func(s *NodeProfile) { s.InstanceProfile = ptr.To("nodes") }, true},
		"hop limit":          {func(s *NodeProfile) { s.MetadataOptions = &MetadataOptions{HTTPPutResponseHopLimit: ptr.To[int64](1)} }, true},
		"volume size":        {func(s *NodeProfile) { s.BlockDeviceMappings[0].EBS.VolumeSize = ptr.To(resource.MustParse("5Gi")) }, true},
		"detailedMonitoring": {func(s *NodeProfile) { s.DetailedMonitoring = ptr.To(true) }, true},
		"instance store":     {func(s *NodeProfile) { s.InstanceStorePolicy = ptr.To(InstanceStoreRAID0) }, true},

		"subnetSelector":        {func(s *NodeProfile) { s.SubnetSelector = nil }, false},
		"securityGroupSelector": {func(s *NodeProfile) { s.SecurityGroupSelector = map[string]string{"a": "b"} }, false},
		"amiSelector":           {func(s *NodeProfile) { s.AMISelector = map[string]string{"a": "b"} }, false},
		"launchTemplate":        {func(s *NodeProfile) { s.LaunchTemplate = ptr.To("mine") }, false},
		"a default spelt out":   {func(s *NodeProfile) { s.DetailedMonitoring = ptr.To(false) }, false},
		"metadata spelt out":    {func(s *NodeProfile) { s.MetadataOptions = (*MetadataOptions)(nil).Defaulted() }, false},
		"spelling of a size":    {func(s *NodeProfile) { s.BlockDeviceMappings[0].EBS.VolumeSize = ptr.To(resource.MustParse("4096Mi")) }, false},
		"order of volumes": {func(s *NodeProfile) {
			s.BlockDeviceMappings[0], s.BlockDeviceMappings[1] = s.BlockDeviceMappings[1], s.BlockDeviceMappings[0]
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := profile()
			c.change(changed)
			if drifts := changed.Hash() != profile().Hash(); drifts != c.drifts {
				t.Errorf("the hash changed: %t, want %t", drifts, c.drifts)
			}
		})
	}
}

// What a machine has taught of its size is applied to other machines whose profiles have the same SizeHash, and markets are
// remembered by it. Each field of a profile either changes what pods get on its machines, or does not.
func TestSizeHash(t *testing.T) {
	sizes := map[string]bool{
		"LaunchTemplate": true, "AMIFamily": true, "UserData": true, "BlockDeviceMappings": true, "InstanceStorePolicy": true,

		"SubnetSelector": false, "SecurityGroupSelector": false, "InstanceProfile": false, "AMISelector": false, "Tags": false,
		"MetadataOptions": false, "DetailedMonitoring": false, "Class": false,
	}
	for field := range reflect.TypeFor[NodeProfile]().Fields() {
		want, known := sizes[field.Name]
		if !known {
			t.Errorf("%s is new: list it here. If it changes what pods get on a machine, SizeHash needs it, and so do the two places that make offer.Settings of a profile: internal/aws/profile.go and internal/simulate/market.go", field.Name)
			continue
		}
		var s NodeProfile
		set(reflect.ValueOf(&s).Elem().FieldByIndex(field.Index))
		if got := s.SizeHash() != (&NodeProfile{}).SizeHash(); got != want {
			t.Errorf("%s is part of SizeHash: %t, want %t", field.Name, got, want)
		}
	}
}

// set gives a field a value that is not its default.
func set(field reflect.Value) {
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
		field.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf("value"))
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	}
}

// All instance profiles of a role give the same rights, so that the role of an EC2NodeClass counts.
func TestHashOfARole(t *testing.T) {
	class := func(role, profile string) *NodeProfile {
		p := &NodeProfile{UserData: ptr.To("x"), Class: &ClassTerms{Role: role}}
		if profile != "" {
			p.InstanceProfile = &profile
		}
		return p
	}
	want := class("a", "").Hash()
	if class("a", "made").Hash() != want || class("b", "").Hash() == want {
		t.Error("the hash of a class depends on its role, and not on the instance profile of the role")
	}
}

// A hash is told from what others write into the same annotation, and never looks
// like a decimal number, which is what Karpenter writes.
func TestIsHash(t *testing.T) {
	for value, want := range map[string]bool{
		"ab18878305e5ed27": true, "000000000000000a": true,
		"": false, "1234567890123456": false, "13598472034582093845": false, "v1-ab18878305e5ed27": false,
		"AB18878305E5ED27": false, "ab18878305e5ed2": false, "ab18878305e5ed2g": false,
	} {
		if IsHash(value) != want {
			t.Errorf("IsHash(%q) = %t, want %t", value, !want, want)
		}
	}
	for i := range 20_000 { // about ten of which begin with sixteen decimal digits
		if text := digest(i); !IsHash(text) {
			t.Fatalf("digest(%d) = %s", i, text)
		}
	}
}
