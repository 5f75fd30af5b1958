package aws

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// recorder keeps the fleet requests as they are on the wire.
type recorder struct {
	mu     sync.Mutex
	fleets []string
	client awssdk.HTTPClient
}

// Do keeps a fleet request.
func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		return r.client.Do(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte("Action=CreateFleet")) {
		r.mu.Lock()
		r.fleets = append(r.fleets, string(body))
		r.mu.Unlock()
	}
	return r.client.Do(request)
}

// record has the adapter's fleet requests kept.
func (f *fixture) record(t *testing.T, change ...func(*Options)) *recorder {
	t.Helper()
	r := &recorder{client: f.config.HTTPClient}
	f.config.HTTPClient = r
	f.Cloud = f.newCloud(t, change...)
	return r
}

// tagsOfFleet reads the tags of a fleet request by the type of resource.
func tagsOfFleet(t *testing.T, body string) map[string]map[string]string {
	t.Helper()
	form, err := url.ParseQuery(body)
	must(t, err)
	out := map[string]map[string]string{}
	for i := 1; ; i++ {
		specification := fmt.Sprintf("TagSpecification.%d.", i)
		kind := form.Get(specification + "ResourceType")
		if kind == "" {
			return out
		}
		out[kind] = map[string]string{}
		for n := 1; form.Has(fmt.Sprintf("%sTag.%d.Key", specification, n)); n++ {
			tag := fmt.Sprintf("%sTag.%d.", specification, n)
			out[kind][form.Get(tag+"Key")] = form.Get(tag + "Value")
		}
	}
}

// templateOf launches one m5.large with a profile and returns its template's content.
func templateOf(t *testing.T, profile *api.NodeProfile) *types.ResponseLaunchTemplateData {
	t.Helper()
	f := start(t)
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	o.Node.Profile = profile
	if d := f.launch(t, o); len(d.Instances) != 1 {
		t.Fatalf("delivery = %+v", d)
	}
	return f.templateContent(t)
}

func volume(device, size string) api.BlockDeviceMapping {
	q := resource.MustParse(size)
	return api.BlockDeviceMapping{DeviceName: &device, EBS: &api.BlockDevice{VolumeSize: &q}}
}

// anyImage selects an image for m5.large without a family's help.
var anyImage = map[string]string{"aws::name": "amazon-eks-node-al2023-x86_64-standard-1.33-*"}

func TestVolumeFacts(t *testing.T) {
	custom := func(volumes ...api.BlockDeviceMapping) *api.NodeProfile {
		return &api.NodeProfile{AMIFamily: new(api.FamilyCustom), AMISelector: anyImage, BlockDeviceMappings: volumes}
	}
	for id, tt := range map[string]struct {
		profile *api.NodeProfile
		want    []string
	}{
		"AWS-073": {&api.NodeProfile{AMIFamily: new(api.FamilyAL2)}, []string{"/dev/xvda 20 gp3"}},
		"AWS-074": {&api.NodeProfile{AMIFamily: new(api.FamilyBottlerocket)}, []string{"/dev/xvda 4 gp3", "/dev/xvdb 20 gp3"}},
		"AWS-075": {custom(), nil},
		"AWS-077": {custom(volume("/dev/xvda", "4G"), volume("/dev/xvdb", "2G")), []string{"/dev/xvda 4 gp3", "/dev/xvdb 2 gp3"}},
	} {
		t.Run(id, func(t *testing.T) {
			var got []string
			for _, m := range templateOf(t, tt.profile).BlockDeviceMappings {
				got = append(got, fmt.Sprintf("%s %d %s", *m.DeviceName, *m.Ebs.VolumeSize, m.Ebs.VolumeType))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	t.Run("what a volume leaves out has the documented default", func(t *testing.T) {
		got := *templateOf(t, &api.NodeProfile{BlockDeviceMappings: []api.BlockDeviceMapping{volume("/dev/xvda", "100Gi")}}).BlockDeviceMappings[0].Ebs
		if got.VolumeType != "gp3" || got.Encrypted == nil || !*got.Encrypted || got.DeleteOnTermination == nil || !*got.DeleteOnTermination ||
			got.Iops != nil || got.Throughput != nil || got.KmsKeyId != nil || got.SnapshotId != nil {
			t.Errorf("volume = %+v", got)
		}
	})
	t.Run("except one of an EC2NodeClass", func(t *testing.T) {
		class := &api.ClassTerms{}
		got := *templateOf(t, &api.NodeProfile{Class: class, BlockDeviceMappings: []api.BlockDeviceMapping{volume("/dev/xvda", "100Gi")}}).BlockDeviceMappings[0].Ebs
		if diff := cmp.Diff(types.LaunchTemplateEbsBlockDevice{VolumeSize: new(int32(100))}, got, cmpopts.IgnoreUnexported(got)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		root := *templateOf(t, &api.NodeProfile{Class: class}).BlockDeviceMappings[0].Ebs
		if root.VolumeType != "gp3" || root.Encrypted == nil || !*root.Encrypted {
			t.Errorf("the volume of the family = %+v", root)
		}
	})
	t.Run("and otherwise what it says", func(t *testing.T) {
		v := volume("/dev/xvda", "100Gi")
		v.EBS.VolumeType, v.EBS.Encrypted, v.EBS.DeleteOnTermination = new("gp2"), new(false), new(false)
		got := *templateOf(t, &api.NodeProfile{BlockDeviceMappings: []api.BlockDeviceMapping{v}}).BlockDeviceMappings[0].Ebs
		if got.VolumeType != "gp2" || *got.Encrypted || *got.DeleteOnTermination {
			t.Errorf("volume = %+v", got)
		}
	})
	t.Run("AWS-078", func(t *testing.T) {
		v := volume("/dev/xvda", "100Gi")
		v.EBS.VolumeType, v.EBS.IOPS, v.EBS.Throughput = new("gp3"), new(int64(4000)), new(int64(500))
		v.EBS.Encrypted, v.EBS.KMSKeyID, v.EBS.SnapshotID, v.EBS.DeleteOnTermination = new(true), new("key"), new("snap-1"), new(false)
		got := *templateOf(t, &api.NodeProfile{BlockDeviceMappings: []api.BlockDeviceMapping{v}}).BlockDeviceMappings[0].Ebs
		if *got.Iops != 4000 || *got.Throughput != 500 || !*got.Encrypted || *got.KmsKeyId != "key" || *got.SnapshotId != "snap-1" || *got.DeleteOnTermination || *got.VolumeSize != 100 {
			t.Errorf("volume = %+v", got)
		}
	})
}

// AWS-083: instances, volumes, network interfaces and the fleet carry the Provisioner's name.
func TestTagsOfAFleet(t *testing.T) {
	f := start(t)
	r := f.record(t)
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	o.Provisioner = "the-provisioner"
	f.launch(t, o)
	tagged := map[string]string{}
	for kind, tags := range tagsOfFleet(t, r.fleets[0]) {
		tagged[kind] = tags["karpenter.sh/provisioner-name"] + " " + tags["Name"]
	}
	const both = "the-provisioner karpenter.sh/provisioner-name/the-provisioner"
	for _, s := range f.templateContent(t).TagSpecifications {
		tagged["template: "+string(s.ResourceType)] = tagMap(s.Tags)["karpenter.sh/provisioner-name"] + " " + tagMap(s.Tags)["Name"]
	}
	want := map[string]string{"instance": both, "volume": both, "fleet": both, "template: network-interface": both}
	if diff := cmp.Diff(want, tagged); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A launch does not fail for tags that only help to make a lost Node object again.
func TestLaunchWithMoreLabelsThanTags(t *testing.T) {
	label := func(name string) string { return api.TagLabelPrefix + "example.com/" + name }
	fits := label(strings.Repeat("n", 127-len(label(""))))
	full := &api.NodeProfile{Tags: map[string]string{}}
	for i := range 42 {
		full.Tags[fmt.Sprintf("tag-%d", i)] = "a"
	}
	for name, tc := range map[string]struct {
		profile    *api.NodeProfile
		tags, want []string
	}{
		"a long key": {nil, []string{fits, fits + "n"}, []string{fits}},
		"50 tags":    {full, []string{label("1"), label("2"), api.AnnotationProfileHash, api.AnnotationProvisionerHash}, []string{api.AnnotationProfileHash, api.AnnotationProvisionerHash, label("1")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			o := order("launch-1", 1, onDemand("m5.large", "a"))
			o.Node.Profile, o.Tags = tc.profile, map[string]string{}
			for _, key := range tc.tags {
				o.Tags[key] = "a"
			}
			bought := f.launch(t, o).Instances
			if len(bought) != 1 {
				t.Fatal("no machine was bought")
			}
			for _, key := range tc.tags {
				if _, has := bought[0].Tags[key]; has != slices.Contains(tc.want, key) {
					t.Errorf("tag %s: %t", key, has)
				}
			}
		})
	}
}

// The largest request that can be asked for stays below the 145 kB that EC2 takes.
func TestFleetRequestsStayWithinTheSizeLimit(t *testing.T) {
	const limit = 145_000
	f := startWith(t, offer.EmbeddedCSV())
	tags := map[string]string{}
	for i := range 40 {
		tags[fmt.Sprintf("%03d%s", i, strings.Repeat("k", 124))] = strings.Repeat("v", 255)
	}
	r := f.record(t, func(o *Options) { o.Tags = tags })
	var candidates []offer.Candidate
	for _, it := range f.market(t, nil).Types {
		for _, o := range it.Offerings {
			candidates = append(candidates, offer.Candidate{InstanceType: it.Name, Zone: o.Zone, CapacityType: o.CapacityType})
		}
	}
	f.launch(t, order("launch-1", 1, candidates...))
	if size := len(r.fleets[0]); size > limit {
		t.Errorf("the request has %d bytes, at most %d are taken", size, limit)
	}
}

func TestImageFacts(t *testing.T) {
	t.Run("AWS-086", func(t *testing.T) { // one launch template per image
		f := start(t)
		o := order("launch-1", 2, onDemand("m5.large", "a"), onDemand("m6g.large", "a"))
		o.Node.Profile = &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: map[string]string{"aws::name": "amazon-eks-node-al2023-*-standard-1.33-*"}}
		f.launch(t, o)
		if got := len(f.templates(t)); got != 2 {
			t.Errorf("launch templates = %d, want one for each architecture", got)
		}
	})
	t.Run("AWS-089", func(t *testing.T) { // nothing that is allowed runs the image
		f := start(t)
		m := f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: map[string]string{"aws::name": "amazon-eks-node-al2023-arm64-standard-1.33-*"}})
		if has(m, "m5.large") || !has(m, "m6g.large") {
			t.Errorf("an image for arm64 offers m5.large: %t, m6g.large: %t", has(m, "m5.large"), has(m, "m6g.large"))
		}
	})
}

func TestUserDataFacts(t *testing.T) {
	text := func(t *testing.T, profile *api.NodeProfile) string {
		t.Helper()
		decoded, err := base64.StdEncoding.DecodeString(awssdk.ToString(templateOf(t, profile).UserData))
		must(t, err)
		return string(decoded)
	}
	t.Run("AWS-090", func(t *testing.T) {
		const own = "anything, untouched"
		if got := text(t, &api.NodeProfile{AMIFamily: new(api.FamilyCustom), AMISelector: anyImage, UserData: new(own)}); got != own {
			t.Errorf("user data = %q", got)
		}
	})
	t.Run("AWS-091", func(t *testing.T) {
		got := text(t, &api.NodeProfile{AMIFamily: new(api.FamilyAL2), UserData: new("#!/bin/bash\necho mine\n")})
		mine, ours := strings.Index(got, "echo mine"), strings.Index(got, "/etc/eks/bootstrap.sh")
		if mine < 0 || ours < mine {
			t.Errorf("the user's part is not in front of the bootstrap:\n%s", got)
		}
	})
	t.Run("AWS-092", func(t *testing.T) {
		got := text(t, &api.NodeProfile{AMIFamily: new(api.FamilyBottlerocket), UserData: new("[settings.host-containers.admin]\nenabled = true\n")})
		if !strings.Contains(got, "enabled = true") || !strings.Contains(got, "cluster-name = 'prod'") {
			t.Errorf("the settings are not merged:\n%s", got)
		}
	})
	t.Run("AWS-093", func(t *testing.T) {
		f := start(t)
		o := order("launch-1", 1, onDemand("m5.large", "a"))
		o.Node.Profile = &api.NodeProfile{AMIFamily: new(api.FamilyBottlerocket), UserData: new("settings = [")}
		if d, err := f.Launch(t.Context(), o); err == nil || !strings.Contains(err.Error(), "TOML") || len(d.Instances) > 0 || len(f.templates(t)) > 0 {
			t.Errorf("delivery = %+v, error = %v", d, err)
		}
	})
	t.Run("AWS-095", func(t *testing.T) {
		f := start(t)
		o := order("launch-1", 1, onDemand("m5.large", "a"))
		o.Node.Labels = map[string]string{"node-restriction.kubernetes.io/team": "a", "team": "a"}
		f.launch(t, o)
		if got := string(f.live()[0].UserData); strings.Contains(got, "node-restriction") || !strings.Contains(got, "team=a") {
			t.Errorf("user data:\n%s", got)
		}
	})
}
