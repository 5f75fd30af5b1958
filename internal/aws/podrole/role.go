// Package podrole manages IAM roles for Kubernetes ServiceAccounts, their OIDC providers and
// pod identity associations. It changes only what the caller declares, and waits until IAM
// has become consistent.
package podrole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Roles manages roles in one account.
type Roles struct {
	client *iam.Client
	// trusts says whether a role trusts an OIDC provider, for the roles that EnsureProvider (true) and DeleteProvider
	// (false) were called for: IAM lists that late.
	trusts sync.Map
	// created has the ARNs of the OIDC providers that were created and not deleted again.
	created sync.Map
	// deleted has the OIDC providers that were deleted and not created again, by ARN, with the time of their creation.
	deleted sync.Map
	// settling is held from the look for an OIDC provider until a role counts as trusting it, and from the
	// decision that none does until the provider is deleted.
	settling sync.Mutex
}

// trust is a role and an OIDC provider.
type trust struct{ provider, role string }

// NewRoles manages the roles of the client's account.
func NewRoles(client *iam.Client) *Roles { return &Roles{client: client} }

// forget makes only what IAM lists count for a role.
func (r *Roles) forget(role string) {
	r.trusts.Range(func(key, _ any) bool {
		if key.(trust).role == role {
			r.trusts.Delete(key)
		}
		return true
	})
}

// Create creates the role without its policies and returns its ARN. If a role of the name
// exists, the error is fs.ErrExist, unless this call has created it and the answer was lost.
func (r *Roles) Create(ctx context.Context, role asset.Role) (arn string, err error) {
	in := &iam.CreateRoleInput{
		RoleName:                 aws.String(role.Name),
		Path:                     aws.String(role.Path),
		AssumeRolePolicyDocument: aws.String(role.Trust),
		MaxSessionDuration:       aws.Int32(role.MaxSession),
		Tags:                     call.TagList(role.Tags),
	}
	if role.Description != "" {
		in.Description = aws.String(role.Description)
	}
	if role.Boundary != "" {
		in.PermissionsBoundary = aws.String(role.Boundary)
	}
	repeated := false
	create := func(ctx context.Context, in *iam.CreateRoleInput, _ ...func(*iam.Options)) (*iam.CreateRoleOutput, error) {
		return r.client.CreateRole(ctx, in, func(o *iam.Options) { o.Retryer = observed{o.Retryer, &repeated} })
	}
	out, err := call.Invoke(ctx, call.UnknownPrincipal, create, in)
	if err == nil {
		return aws.ToString(out.Role.Arn), nil
	}
	if call.Code(err) == call.Exists {
		err = fs.ErrExist
		if repeated {
			if arn, ok := r.justCreated(ctx, role); ok {
				return arn, nil
			}
		}
	}
	r.forget(role.Name)
	return "", fmt.Errorf("create role %q: %w", role.Name, err)
}

// observed notes whether the SDK repeats a call that may have had an effect, such as after an
// answer that was lost. A call that IAM has only throttled has had none.
type observed struct {
	aws.Retryer
	repeated *bool
}

func (o observed) RetryDelay(attempt int, err error) (time.Duration, error) {
	if retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) != aws.TrueTernary {
		*o.repeated = true
	}
	return o.Retryer.RetryDelay(attempt, err)
}

// justCreated returns the ARN of a role that exists if it is as Create makes the wanted one. It
// waits for a role that was just created.
func (r *Roles) justCreated(ctx context.Context, wanted asset.Role) (arn string, ok bool) {
	var live asset.Role
	err := call.Eventually(ctx, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }, func(ctx context.Context) (err error) {
		live, arn, err = r.Read(ctx, wanted.Name)
		return err
	})
	return arn, err == nil && len(live.Inline)+len(live.Attached) == 0 && policy.SamePolicy(live.Trust, wanted.Trust) &&
		live.Path == wanted.Path && live.Description == wanted.Description && live.MaxSession == wanted.MaxSession &&
		live.Boundary == wanted.Boundary && maps.Equal(live.Tags, wanted.Tags)
}

// Read returns the role with all of its policies, and its ARN. If there is no such role, the
// error is fs.ErrNotExist.
func (r *Roles) Read(ctx context.Context, name string) (live asset.Role, arn string, err error) {
	out, err := r.client.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
	if err != nil {
		return asset.Role{}, "", fmt.Errorf("read role %q: %w", name, call.NotExist(err))
	}
	live = asset.Role{
		Name:        name,
		Path:        aws.ToString(out.Role.Path),
		Description: aws.ToString(out.Role.Description),
		MaxSession:  aws.ToInt32(out.Role.MaxSessionDuration),
		Tags:        call.TagMap(out.Role.Tags),
	}
	if out.Role.PermissionsBoundary != nil {
		live.Boundary = aws.ToString(out.Role.PermissionsBoundary.PermissionsBoundaryArn)
	}
	if live.Trust, err = url.PathUnescape(aws.ToString(out.Role.AssumeRolePolicyDocument)); err != nil {
		return asset.Role{}, "", fmt.Errorf("read role %q: decode its trust policy: %w", name, err)
	}
	if live.Inline, err = r.inline(ctx, name); err == nil {
		live.Attached, err = r.attached(ctx, name)
	}
	if call.IsMissing(err) { // deleted since it was read
		return asset.Role{}, "", fmt.Errorf("read role %q: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return asset.Role{}, "", err
	}
	return live, aws.ToString(out.Role.Arn), nil
}

// ARN returns the ARN of the role of the name. It waits for a role that was just created; if
// IAM has none after a minute, the error is fs.ErrNotExist. The ARN also contains the role's
// path, so that it cannot be built from the name.
func (r *Roles) ARN(ctx context.Context, name string) (arn string, err error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	out, err := call.Invoke(ctx, call.IsMissing, r.client.GetRole, &iam.GetRoleInput{RoleName: aws.String(name)})
	if err != nil {
		return "", fmt.Errorf("find role %q: %w", name, call.NotExist(err))
	}
	return aws.ToString(out.Role.Arn), nil
}

func (r *Roles) inline(ctx context.Context, role string) (map[string]string, error) {
	names, err := r.inlineNames(ctx, role)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(names))
	for _, name := range names {
		got, err := r.client.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: aws.String(role), PolicyName: aws.String(name)})
		if call.IsMissing(err) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, fmt.Errorf("read policy %q of role %q: %w", name, role, err)
		}
		if out[name], err = url.PathUnescape(aws.ToString(got.PolicyDocument)); err != nil {
			return nil, fmt.Errorf("decode policy %q of role %q: %w", name, role, err)
		}
	}
	return out, nil
}

func (r *Roles) inlineNames(ctx context.Context, role string) ([]string, error) {
	var names []string
	pages := iam.NewListRolePoliciesPaginator(r.client, &iam.ListRolePoliciesInput{RoleName: aws.String(role)})
	err := call.EachPage(ctx, call.ReadTimeout, pages, func(page *iam.ListRolePoliciesOutput) { names = append(names, page.PolicyNames...) })
	if err != nil {
		return nil, fmt.Errorf("list the inline policies of role %q: %w", role, err)
	}
	slices.Sort(names)
	return names, nil
}

func (r *Roles) attached(ctx context.Context, role string) ([]string, error) {
	var arns []string
	pages := iam.NewListAttachedRolePoliciesPaginator(r.client, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(role)})
	err := call.EachPage(ctx, call.ReadTimeout, pages, func(page *iam.ListAttachedRolePoliciesOutput) {
		for _, p := range page.AttachedPolicies {
			arns = append(arns, aws.ToString(p.PolicyArn))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the managed policies of role %q: %w", role, err)
	}
	slices.Sort(arns)
	return arns, nil
}
