package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How long what was found about images is believed.
const (
	imagesDue      = 5 * time.Minute
	imagesOutdated = 6 * time.Hour
)

// images finds machine images.
type images struct {
	ec2  *ec2Client
	ssm  ssmGetParameters
	memo *memo[[]image]
}

// image is a machine image and the machines that it is for.
type image struct {
	id, name     string
	created      string // RFC 3339, so that text order is the order in time
	requirements []api.Requirement
}

// ssmGetParameters is a function for the reason that ec2Client gives.
type ssmGetParameters func(context.Context, *ssm.GetParametersInput, ...func(*ssm.Options)) (*ssm.GetParametersOutput, error)

func newImages(reads *ec2Client, parameters ssmGetParameters, now func() time.Time) *images {
	return &images{ec2: reads, ssm: parameters, memo: newMemo[[]image](now, imagesDue, imagesOutdated)}
}

// find returns the images of a profile, best first: an instance type takes the
// first that is for it.
func (i *images) find(ctx context.Context, profile *api.NodeProfile, family, version string) ([]image, error) {
	selectors := profile.ImageSelectors()
	if len(selectors) == 0 {
		pinned := profile.ImageVersion()
		return i.memo.get(ctx, family+" "+version+" "+pinned, func(ctx context.Context) ([]image, error) {
			return i.published(ctx, family, version, pinned)
		})
	}
	out, err := anyOf(ctx, i.memo, selectors, i.selected)
	if err != nil {
		return nil, err
	}
	newestFirst(out)
	return slices.CompactFunc(out, func(a, b image) bool { return a.id == b.id }), nil
}

func newestFirst(list []image) {
	slices.SortFunc(list, func(a, b image) int {
		return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.id, b.id))
	})
}

// selected finds images by a selector, newest first. Without owners those of the
// account itself and of Amazon are meant.
func (i *images) selected(ctx context.Context, selector map[string]string) ([]image, error) {
	if name := selector[api.SelectorParameter]; name != "" {
		values, err := i.parameters(ctx, []parameter{{name: name}})
		if err != nil {
			return nil, fmt.Errorf("get the image parameter %s: %w", name, err)
		}
		if values[name] == "" {
			return nil, nil
		}
		selector = map[string]string{api.SelectorIDs: values[name]}
	}
	in := &ec2.DescribeImagesInput{
		Filters: append(filters(selector, filterImageID), filter("state", "available")),
		Owners:  api.SplitAlternatives(selector[api.SelectorAMIOwners]),
	}
	if len(in.Owners) == 0 && selector[api.SelectorIDs] == "" && selector[api.SelectorIDsLegacy] == "" {
		in.Owners = []string{"self", "amazon"}
	}
	found, err := i.describe(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("describe images of %s: %w", selectorKey(selector), err)
	}
	out := make([]image, 0, len(found))
	for _, im := range found {
		out = append(out, imageOf(im, requirementsOf(im)))
	}
	newestFirst(out)
	return out, nil
}

func (i *images) describe(ctx context.Context, in *ec2.DescribeImagesInput) ([]types.Image, error) {
	var out []types.Image
	err := eachPage(ctx, ec2.NewDescribeImagesPaginator(i.ec2, in), func(page *ec2.DescribeImagesOutput) {
		out = append(out, page.Images...)
	})
	return out, err
}

func imageOf(im types.Image, requirements []api.Requirement) image {
	return image{
		id:           awssdk.ToString(im.ImageId),
		name:         awssdk.ToString(im.Name),
		created:      awssdk.ToString(im.CreationDate),
		requirements: requirements,
	}
}

// requirementsOf an image that was selected: its architecture, and its tags that
// are named like well-known labels.
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

// published finds the EKS images of a family through the parameters that their
// publishers keep up to date: the current ones, or those of a pinned release.
func (i *images) published(ctx context.Context, family, version, release string) ([]image, error) {
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
	found, err := i.describe(ctx, &ec2.DescribeImagesInput{ImageIds: slices.Sorted(maps.Values(ids))})
	if err != nil {
		return nil, fmt.Errorf("describe images of %s for Kubernetes %s: %w", family, version, err)
	}
	byID := make(map[string]types.Image, len(found))
	for _, im := range found {
		byID[awssdk.ToString(im.ImageId)] = im
	}
	var out []image
	for _, p := range wanted {
		if im, ok := byID[ids[p.name]]; ok {
			out = append(out, imageOf(im, p.requirements))
		}
	}
	return out, nil
}

// maxParameters is how many parameters one call takes.
const maxParameters = 10

// parameters returns the values by name; those that do not exist are left out.
func (i *images) parameters(ctx context.Context, wanted []parameter) (map[string]string, error) {
	values := map[string]string{}
	for chunk := range slices.Chunk(wanted, maxParameters) {
		names := make([]string, len(chunk))
		for n, p := range chunk {
			names[n] = p.name
		}
		out, err := invoke(ctx, i.ssm, &ssm.GetParametersInput{Names: slices.Compact(slices.Sorted(slices.Values(names)))})
		if err != nil {
			return nil, err
		}
		for _, p := range out.Parameters {
			values[awssdk.ToString(p.Name)] = strings.TrimSpace(awssdk.ToString(p.Value))
		}
	}
	return values, nil
}

// imageFor returns the first image that is for the hardware.
func imageFor(list []image, labels map[string][]string) (image, bool) {
	for _, im := range list {
		if im.suits(labels) {
			return im, true
		}
	}
	return image{}, false
}

// suits reports whether machines with the labels can run the image.
func (im *image) suits(labels map[string][]string) bool {
	for _, r := range im.requirements {
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
