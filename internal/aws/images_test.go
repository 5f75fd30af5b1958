package aws

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// imageName returns the name of the image that an instance type gets.
func imageName(t *testing.T, m offer.Market, instanceType string) string {
	t.Helper()
	it := find(t, m, instanceType)
	id, _ := it.Label(api.LabelInstanceAMIID)
	at := slices.IndexFunc(m.Status.AMIs, func(a api.AMIStatus) bool { return a.ID == id })
	if at < 0 {
		t.Fatalf("image %s of %s is not in the status", id, instanceType)
	}
	return m.Status.AMIs[at].Name
}

// Machines with devices get the image that has their drivers.
func TestImagesByDevice(t *testing.T) {
	f := start(t)
	for family, want := range map[string]map[string]string{
		"AL2":          {"g5.xlarge": "amazon-eks-gpu-node-1.33", "inf2.xlarge": "amazon-eks-gpu-node-1.33", "m6g.large": "amazon-eks-arm64-node-1.33"},
		"AL2023":       {"g5.xlarge": "x86_64-nvidia", "inf2.xlarge": "x86_64-neuron", "m6g.large": "arm64-standard"},
		"Bottlerocket": {"g5.xlarge": "1.33-nvidia-x86_64", "inf2.xlarge": "1.33-x86_64", "m6g.large": "1.33-arm64"},
	} {
		m := f.market(t, &api.NodeProfile{AMIFamily: &family})
		for instanceType, part := range want {
			if got := imageName(t, m, instanceType); !strings.Contains(got, part) {
				t.Errorf("%s: image of %s = %s, want one with %s", family, instanceType, got, part)
			}
		}
	}
}

// A selector by tags or by id finds images of the account; tags that are named like
// labels say which machines an image is for.
func TestOwnImages(t *testing.T) {
	f := start(t)
	plain := f.account.AddImage("mine", "x86_64", map[string]string{"team": "a"})
	gpus := f.account.AddImage("mine for GPUs", "x86_64", map[string]string{"team": "a", "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia"})
	f.account.AddImage("of others", "x86_64", map[string]string{"team": "b"})

	m := f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: map[string]string{"team": "a"}})
	if got := []string{imageName(t, m, "m5.large"), imageName(t, m, "g5.xlarge")}; len(m.Status.AMIs) != 2 || got[0] != "mine" {
		t.Errorf("images = %v of %+v", got, m.Status.AMIs)
	}
	m = f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: map[string]string{"aws::ids": gpus}})
	if has(m, "m5.large") || imageName(t, m, "g5.xlarge") != "mine for GPUs" {
		t.Error("an image for GPUs alone is taken for other machines")
	}
	m = f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: map[string]string{"aws::ids": plain, "team": "b"}})
	if m.BlockedReason != reasonNoImages {
		t.Errorf("an id and a tag that it does not have: blocked = %q", m.Blocked)
	}
}

// A machine gets the image that its offer promises, also where a tag of the image names a label that
// follows from the settings and not from the hardware.
func TestImageWithTagOfASetting(t *testing.T) {
	f := start(t)
	want := f.account.AddImage("mine", "x86_64", map[string]string{"team": "a", api.LabelOS: "linux", api.LabelRegion: testRegion})
	profile := &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: map[string]string{"team": "a"}}
	if got := imageName(t, f.market(t, profile), "m5.large"); got != "mine" {
		t.Fatalf("the offer has image %q", got)
	}
	o := order("launch-1", 1, onDemand("m5.large", "a"))
	o.Node.Profile = profile
	f.launch(t, o)
	if got := f.live(); len(got) != 1 || got[0].ImageID != want {
		t.Errorf("machines = %+v, want one with image %s", got, want)
	}
}

// A deprecated image can still be selected, but one that is not deprecated is preferred.
func TestDeprecatedImages(t *testing.T) {
	f := start(t)
	selected := func(selector map[string]string) (names []string) {
		f.forgetLookups()
		m := f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyBottlerocket), AMISelector: selector})
		if m.Blocked != "" {
			t.Errorf("%v: %s", selector, m.Blocked)
			return nil
		}
		for _, a := range m.Status.AMIs {
			if a.Deprecated {
				a.ID += " deprecated"
			}
			names = append(names, a.ID)
		}
		return names
	}
	byName := map[string]string{api.SelectorAMIName: "bottlerocket-aws-k8s-1.33-x86_64-*"}
	found := selected(byName)
	if len(found) != 2 {
		t.Fatalf("images = %v, want the newest and the one before", found)
	}
	newest, older := found[0], found[1]
	tests := []struct {
		what       string
		deprecated string
		want       []string // of the selector by name
	}{
		{"the newest will be deprecated tomorrow", "", []string{newest, older}},
		{"the newest is deprecated", newest, []string{older, newest + " deprecated"}},
		{"both are deprecated", older, []string{newest + " deprecated", older + " deprecated"}},
	}
	f.account.DeprecateImage(newest, f.clock.Now().Add(24*time.Hour))
	for _, tt := range tests {
		if tt.deprecated != "" {
			f.account.DeprecateImage(tt.deprecated, f.clock.Now())
		}
		if got := selected(byName); !slices.Equal(got, tt.want) {
			t.Errorf("%s: images = %v, want %v", tt.what, got, tt.want)
		}
		if got := selected(map[string]string{api.SelectorIDs: newest}); len(got) != 1 || !strings.HasPrefix(got[0], newest) {
			t.Errorf("%s: by its id, images = %v", tt.what, got)
		}
	}
}

// New images are found within minutes of their publication.
func TestPublishedImagesAreTaken(t *testing.T) {
	f := start(t)
	before := imageName(t, f.market(t, nil), "m5.large")
	f.account.PublishImages()
	if got := imageName(t, f.market(t, nil), "m5.large"); got != before {
		t.Errorf("the image changed at once: %s", got)
	}
	f.clock.Step(5*time.Minute + time.Second)
	if got := imageName(t, f.market(t, nil), "m5.large"); got <= before {
		t.Errorf("image = %s, want a newer one than %s", got, before)
	}
}

// parameters replaces what SSM knows: the function changes the answers by name.
func (f *fixture) parameters(change func(values map[string]string)) {
	get := ssm.NewFromConfig(f.config).GetParameters
	f.Cloud.images = lookup.NewImages(f.reads, func(ctx context.Context, in *ssm.GetParametersInput, o ...func(*ssm.Options)) (*ssm.GetParametersOutput, error) {
		out, err := get(ctx, in, o...)
		if err != nil {
			return nil, err
		}
		values := map[string]string{}
		for _, p := range out.Parameters {
			values[*p.Name] = *p.Value
		}
		change(values)
		known := out.Parameters
		out.Parameters = nil
		for name, value := range values {
			out.Parameters = append(out.Parameters, types.Parameter{Name: &name, Value: &value})
		}
		for _, p := range known {
			if _, ok := values[*p.Name]; !ok {
				out.InvalidParameters = append(out.InvalidParameters, *p.Name)
			}
		}
		return out, nil
	}, f.clock.Now)
}

// One published image that EC2 does not know does not take the others of its family away.
func TestPublishedImageThatEC2DoesNotKnow(t *testing.T) {
	f := start(t)
	f.parameters(func(values map[string]string) {
		for name := range values {
			if strings.Contains(name, "neuron") {
				values[name] = "ami-0123456789abcdef0"
			}
		}
	})
	m := f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyAL2023)})
	if got := imageName(t, m, "m5.large"); !strings.Contains(got, "x86_64-standard") || has(m, "inf2.xlarge") {
		t.Errorf("image %s, machines with Neuron devices are sold: %t", got, has(m, "inf2.xlarge"))
	}
}

const armParameter = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard/recommended/image_id"

// An SSM parameter that is missing, as while Terraform replaces it, takes no image away that it has named, because nodes with
// the image would drift. One that has never been there finds nothing.
func TestImageParameterThatIsReplaced(t *testing.T) {
	f := start(t)
	missing := false
	f.parameters(func(values map[string]string) {
		if missing {
			delete(values, armParameter)
		}
	})
	profile := classOf(func(c *api.ClassTerms) {
		c.Images = []map[string]string{{api.SelectorParameter: imageParameter}, {api.SelectorParameter: armParameter}}
	})
	sold := func(want bool) {
		t.Helper()
		if m := f.market(t, profile); m.Blocked != "" || !has(m, "m5.large") || has(m, "m6g.large") != want {
			t.Errorf("blocked %q, arm64 machines are sold: %t, want %t", m.Blocked, has(m, "m6g.large"), want)
		}
	}
	f.expectSixHours(sold, &missing)
	f.clock.Step(time.Minute)
	sold(true)
}

// expectSixHours lets an image be missing: its machines are sold for six hours, and no longer.
func (f *fixture) expectSixHours(sold func(want bool), missing *bool) {
	sold(true)
	*missing = true
	f.clock.Step(6 * time.Minute)
	sold(true)
	f.clock.Step(6 * time.Hour)
	sold(false)
	*missing = false
}

// A published image that is not found for a while stays the one of its nodes, which would drift otherwise. One that is gone for
// longer counts as withdrawn.
func TestPublishedImageThatIsMissing(t *testing.T) {
	const neuron = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/recommended/image_id"
	for what, change := range map[string]func(values map[string]string){
		"SSM leaves it out":    func(values map[string]string) { delete(values, armParameter) },
		"SSM leaves out all":   func(values map[string]string) { clear(values) },
		"EC2 does not list it": func(values map[string]string) { values[armParameter] = "ami-0123456789abcdef0" },
		"another one is new":   func(values map[string]string) { delete(values, armParameter); values[neuron] = values[imageParameter] },
	} {
		t.Run(what, func(t *testing.T) {
			f := start(t)
			missing := false
			f.parameters(func(values map[string]string) {
				delete(values, neuron)
				if missing {
					change(values)
				}
			})
			sold := func(want bool) {
				t.Helper()
				if got := has(f.market(t, &api.NodeProfile{AMIFamily: new(api.FamilyAL2023)}), "m6g.large"); got != want {
					t.Errorf("arm64 machines are sold: %t, want %t", got, want)
				}
			}
			f.expectSixHours(sold, &missing)
			f.clock.Step(7 * time.Hour)
			sold(true)
		})
	}
}

// An answer of SSM that says nothing about any parameter is no answer.
func TestEmptyAnswerOfSSM(t *testing.T) {
	f := start(t)
	f.Cloud.images = lookup.NewImages(f.reads, func(context.Context, *ssm.GetParametersInput, ...func(*ssm.Options)) (*ssm.GetParametersOutput, error) {
		return &ssm.GetParametersOutput{}, nil
	}, f.clock.Now)
	_, err := f.Market(t.Context(), provisioner("default"), &api.NodeProfile{AMIFamily: new(api.FamilyAL2023)})
	if err == nil || !strings.Contains(err.Error(), "the answer of SSM names no parameter") {
		t.Errorf("error = %v", err)
	}
}
