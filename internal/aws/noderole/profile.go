// Package noderole manages what makes an IAM role a role for nodes: the instance profile
// that gives it to machines, and the access entry by which an EKS cluster admits them.
package noderole

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// Profiles manages instance profiles in one account.
type Profiles struct{ client *iam.Client }

// NewProfiles manages the instance profiles of the client's account.
func NewProfiles(client *iam.Client) *Profiles { return &Profiles{client} }

// Create creates the profile, adds its role, and returns its ARN. If a profile of the name
// exists, the error is fs.ErrExist. If only adding the role fails, Create returns the ARN
// and the error.
func (p *Profiles) Create(ctx context.Context, profile asset.Profile) (arn string, err error) {
	out, err := call.Invoke(ctx, nil, p.client.CreateInstanceProfile, &iam.CreateInstanceProfileInput{
		InstanceProfileName: aws.String(profile.Name), Path: aws.String(profile.Path), Tags: call.TagList(profile.Tags),
	})
	if call.Code(err) == call.Exists {
		return "", fmt.Errorf("create instance profile %q: %w", profile.Name, fs.ErrExist)
	}
	if err != nil {
		return "", fmt.Errorf("create instance profile %q: %w", profile.Name, err)
	}
	return aws.ToString(out.InstanceProfile.Arn), p.add(ctx, profile)
}

// add adds the role to the profile. It waits until IAM knows a role that was just created.
func (p *Profiles) add(ctx context.Context, profile asset.Profile) error {
	err := call.Change(ctx, call.IsMissing, p.client.AddRoleToInstanceProfile, &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: aws.String(profile.Name), RoleName: aws.String(profile.Role),
	})
	return call.Explain(fmt.Sprintf("add role %q to instance profile %q", profile.Role, profile.Name), err)
}

// Read returns the profile and its ARN. If there is no such profile, the error is
// fs.ErrNotExist.
func (p *Profiles) Read(ctx context.Context, name string) (live asset.Profile, arn string, err error) {
	out, err := p.client.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil {
		return asset.Profile{}, "", fmt.Errorf("read instance profile %q: %w", name, call.NotExist(err))
	}
	live = asset.Profile{Name: name, Path: aws.ToString(out.InstanceProfile.Path), Tags: call.TagMap(out.InstanceProfile.Tags)}
	for _, role := range out.InstanceProfile.Roles {
		live.Role = aws.ToString(role.RoleName)
	}
	return live, aws.ToString(out.InstanceProfile.Arn), nil
}

// Holding returns the names of the profiles that contain a role, sorted. If there is no such
// role, the error is fs.ErrNotExist.
func (p *Profiles) Holding(ctx context.Context, role string) ([]string, error) {
	var names []string
	pages := iam.NewListInstanceProfilesForRolePaginator(p.client, &iam.ListInstanceProfilesForRoleInput{RoleName: aws.String(role)})
	err := call.EachPage(ctx, call.ReadTimeout, pages, func(page *iam.ListInstanceProfilesForRoleOutput) {
		for _, profile := range page.InstanceProfiles {
			names = append(names, aws.ToString(profile.InstanceProfileName))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the instance profiles of role %q: %w", role, call.NotExist(err))
	}
	slices.Sort(names)
	return names, nil
}

// Update changes a profile from the declaration before to the declaration now.
func (p *Profiles) Update(ctx context.Context, before, now asset.Profile) error {
	if before.Role != now.Role {
		if before.Role != "" {
			if err := p.remove(ctx, before); err != nil {
				return err
			}
		}
		if err := p.add(ctx, now); err != nil {
			return err
		}
	}
	return call.Retag(call.Tagging{What: fmt.Sprintf("instance profile %q", now.Name), Before: before.Tags, Now: now.Tags}, func() error {
		return call.Change(ctx, nil, p.client.TagInstanceProfile, &iam.TagInstanceProfileInput{InstanceProfileName: aws.String(now.Name), Tags: call.TagList(now.Tags)})
	}, func(keys []string) error {
		return call.Change(ctx, nil, p.client.UntagInstanceProfile, &iam.UntagInstanceProfileInput{InstanceProfileName: aws.String(now.Name), TagKeys: keys})
	})
}

// Delete removes the role from the profile and deletes the profile. It succeeds if either is
// gone already.
func (p *Profiles) Delete(ctx context.Context, profile asset.Profile) error {
	if profile.Role != "" {
		if err := p.remove(ctx, profile); err != nil {
			return err
		}
	}
	lagging := func(err error) bool { return call.Code(err) == call.DeleteConflict }
	err := call.Change(ctx, lagging, p.client.DeleteInstanceProfile, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(profile.Name)})
	return call.Explain(fmt.Sprintf("delete instance profile %q", profile.Name), call.IgnoreMissing(err))
}

func (p *Profiles) remove(ctx context.Context, profile asset.Profile) error {
	err := call.Change(ctx, nil, p.client.RemoveRoleFromInstanceProfile, &iam.RemoveRoleFromInstanceProfileInput{
		InstanceProfileName: aws.String(profile.Name), RoleName: aws.String(profile.Role),
	})
	return call.Explain(fmt.Sprintf("remove role %q from instance profile %q", profile.Role, profile.Name), call.IgnoreMissing(err))
}
