package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How long answers about images are used.
const (
	imagesDue      = 5 * time.Minute
	imagesOutdated = 6 * time.Hour
)

// Images finds AMIs.
type Images struct {
	ec2  *client.EC2
	ssm  ssmGetParameters
	memo *client.Memo[[]Image]
	now  func() time.Time
}

// Image is an AMI.
type Image struct {
	ID, Name     string
	created      string            // RFC 3339 in UTC, so that the order of the text is that of time
	deprecation  time.Time         // zero: none
	Requirements []api.Requirement // on the labels of the machines that it is for
}

// ssmGetParameters calls GetParameters. It is a function and not the SDK's client for the
// reason that client.EC2 gives.
type ssmGetParameters func(context.Context, *ssm.GetParametersInput, ...func(*ssm.Options)) (*ssm.GetParametersOutput, error)

// NewImages returns a finder of images that asks EC2 and SSM.
func NewImages(reads *client.EC2, parameters ssmGetParameters, now func() time.Time) *Images {
	return &Images{ec2: reads, ssm: parameters, memo: client.NewMemo[[]Image](now, imagesDue, imagesOutdated), now: now}
}

// Find returns the images of a profile, the preferred ones first: a machine gets the first
// image that is for it, see ImageFor. Deprecated images come after all others. Without a
// selector, these are the images that AWS or Canonical publish for the AMI family and the
// Kubernetes version. If one of those is not found any more, the images before count until they are
// outdated, because its nodes would drift.
func (i *Images) Find(ctx context.Context, profile *api.NodeProfile, family, version string) ([]Image, error) {
	selectors := ImageSelectors(profile)
	if len(selectors) == 0 {
		pinned := profile.ImageVersion()
		key := family + " " + version + " " + pinned
		return i.memo.Get(ctx, key, func(ctx context.Context) ([]Image, error) {
			found, err := i.published(ctx, family, version, pinned)
			if err != nil {
				return nil, err
			}
			if lost := withoutSuccessor(i.memo.Last(key), found); lost != nil {
				return nil, fmt.Errorf("find a successor of %s for Kubernetes %s: %w", lost.Name, version, errAbsent)
			}
			return found, nil
		})
	}
	out, err := anyOf(ctx, i.memo, selectors, i.selected)
	if err != nil {
		return nil, err
	}
	if profile.Class != nil { // As with Karpenter, tags of images are no requirements for an EC2NodeClass.
		for k := range out {
			out[k].Requirements = slices.DeleteFunc(slices.Clone(out[k].Requirements), func(r api.Requirement) bool { return r.Key != api.LabelArch })
		}
	}
	turn := func(im *Image) int {
		if im.Deprecated(i.now()) {
			return 1
		}
		return 0
	}
	slices.SortFunc(out, func(a, b Image) int {
		return cmp.Or(cmp.Compare(turn(&a), turn(&b)), cmp.Compare(b.created, a.created), cmp.Compare(a.ID, b.ID)) // newest first
	})
	return slices.CompactFunc(out, func(a, b Image) bool { return a.ID == b.ID }), nil
}

// Deprecated reports whether the image should not be used any more. It still can be.
func (im *Image) Deprecated(now time.Time) bool {
	return !im.deprecation.IsZero() && !now.Before(im.deprecation)
}

// ImageSelectors returns the selectors of a profile's images with owners. If one names neither ids nor owners, the images must
// belong to the account or to Amazon: everybody can publish an image under any name. A term of an
// EC2NodeClass without a name also finds what others share: the account sees only its own tags.
func ImageSelectors(profile *api.NodeProfile) []map[string]string {
	out := slices.Clone(profile.ImageSelectors())
	for n, s := range out {
		byTags := profile.Class == nil && s[api.SelectorIDs] == "" && s[api.SelectorIDsLegacy] == ""
		if s[api.SelectorAMIOwners] == "" && (byTags || s[api.SelectorAMIName] != "") {
			out[n] = maps.Clone(s)
			out[n][api.SelectorAMIOwners] = "self,amazon"
		}
	}
	return out
}

// selected finds images by a selector.
func (i *Images) selected(ctx context.Context, selector map[string]string) ([]Image, error) {
	if name := selector[api.SelectorParameter]; name != "" {
		values, err := i.parameters(ctx, []parameter{{name: name}})
		if err != nil {
			return nil, fmt.Errorf("get the image parameter %s: %w", name, err)
		}
		// SSM answers without the version or label, and may answer an ARN with a name.
		id := strings.Join(slices.Collect(maps.Values(values)), "")
		if id == "" {
			return nil, fmt.Errorf("get the image parameter %s: %w", name, errAbsent)
		}
		selector = map[string]string{api.SelectorIDs: id}
	}
	in := &ec2.DescribeImagesInput{
		Filters: append(filters(selector, filterImageID), client.Filter("state", "available")),
		Owners:  api.SplitList(selector[api.SelectorAMIOwners]),
	}
	found, err := i.describe(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("describe images of %s: %w", selectorKey(selector), err)
	}
	out := make([]Image, 0, len(found))
	for _, im := range found {
		out = append(out, imageOf(im, requirementsOf(im)))
	}
	return out, nil
}

// describe also returns deprecated images, which EC2 leaves out by default if they belong to others.
func (i *Images) describe(ctx context.Context, in *ec2.DescribeImagesInput) ([]types.Image, error) {
	in.IncludeDeprecated = awssdk.Bool(true)
	var out []types.Image
	err := client.EachPage(ctx, ec2.NewDescribeImagesPaginator(i.ec2, in), func(page *ec2.DescribeImagesOutput) {
		out = append(out, page.Images...)
	})
	return out, err
}

func imageOf(im types.Image, requirements []api.Requirement) Image {
	deprecation, _ := time.Parse(time.RFC3339, awssdk.ToString(im.DeprecationTime)) // zero where there is none
	return Image{
		ID:           awssdk.ToString(im.ImageId),
		Name:         awssdk.ToString(im.Name),
		created:      awssdk.ToString(im.CreationDate),
		deprecation:  deprecation,
		Requirements: requirements,
	}
}

// requirementsOf returns the requirements of a selected image: its architecture, and its
// tags whose keys are well-known labels.
func requirementsOf(im types.Image) []api.Requirement {
	tags := map[string]string{}
	for _, tag := range im.Tags {
		if key := api.NormalizeLabel(awssdk.ToString(tag.Key)); api.WellKnown(key) {
			tags[key] = awssdk.ToString(tag.Value)
		}
	}
	tags[api.LabelArch] = offer.KubernetesArch(string(im.Architecture))
	var out []api.Requirement
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, api.Requirement{Key: key, Operator: api.OpIn, Values: []string{tags[key]}})
	}
	return out
}

// published finds the EKS images of a family through the SSM parameters in which their
// publishers list them: the current ones, or those of a release.
func (i *Images) published(ctx context.Context, family, version, release string) ([]Image, error) {
	wanted := parametersOf(family, version)
	if release != "" {
		wanted = pinnedTo(release, version, wanted)
	}
	ids, err := i.parameters(ctx, wanted)
	if err != nil {
		return nil, fmt.Errorf("get image parameters of %s for Kubernetes %s: %w", family, version, err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	// Where ids are no filter, one that EC2 does not know makes the whole request fail.
	byIDs := client.Filter(filterImageID, slices.Sorted(maps.Values(ids))...)
	found, err := i.describe(ctx, &ec2.DescribeImagesInput{Filters: []types.Filter{byIDs}})
	if err != nil {
		return nil, fmt.Errorf("describe images of %s for Kubernetes %s: %w", family, version, err)
	}
	byID := make(map[string]types.Image, len(found))
	for _, im := range found {
		byID[awssdk.ToString(im.ImageId)] = im
	}
	var out []Image
	for _, p := range wanted {
		if im, ok := byID[ids[p.name]]; ok {
			out = append(out, imageOf(im, p.requirements))
		}
	}
	return out, nil
}

// withoutSuccessor returns an image of the list before that has none for the same machines in the list now, or nil.
func withoutSuccessor(before, now []Image) *Image {
	for n := range before {
		if !slices.ContainsFunc(now, func(im Image) bool { return reflect.DeepEqual(im.Requirements, before[n].Requirements) }) {
			return &before[n]
		}
	}
	return nil
}

// maxParameters is the largest number of names in one GetParameters request, set by SSM.
const maxParameters = 10

// parameters returns the values of SSM parameters by name. Parameters that do not exist are
// left out. SSM lists those, so that an answer without any parameter is an error.
func (i *Images) parameters(ctx context.Context, wanted []parameter) (map[string]string, error) {
	values := map[string]string{}
	for chunk := range slices.Chunk(wanted, maxParameters) {
		names := make([]string, len(chunk))
		for n, p := range chunk {
			names[n] = p.name
		}
		out, err := client.Invoke(ctx, i.ssm, &ssm.GetParametersInput{Names: slices.Compact(slices.Sorted(slices.Values(names)))})
		if err != nil {
			return nil, err
		}
		if len(out.Parameters)+len(out.InvalidParameters) == 0 {
			return nil, errors.New("the answer of SSM names no parameter, neither a known nor an unknown one")
		}
		for _, p := range out.Parameters {
			values[awssdk.ToString(p.Name)] = strings.TrimSpace(awssdk.ToString(p.Value))
		}
	}
	return values, nil
}

// ImageFor returns the first image for machines with the labels, and whether there is one.
func ImageFor(list []Image, labels map[string][]string) (Image, bool) {
	at := slices.IndexFunc(list, func(im Image) bool { return im.suits(labels) })
	if at < 0 {
		return Image{}, false
	}
	return list[at], true
}

// suits reports whether machines with the labels can run the image.
func (im *Image) suits(labels map[string][]string) bool {
	for _, r := range im.Requirements {
		values := labels[r.Key]
		matches := slices.ContainsFunc(values, func(v string) bool { return slices.Contains(r.Values, v) })
		switch r.Operator {
		case api.OpIn:
			if !matches {
				return false
			}
		case api.OpNotIn:
			if matches {
				return false
			}
		}
	}
	return true
}

// Forget makes Find look all images up again.
func (i *Images) Forget() { i.memo.Forget() }
