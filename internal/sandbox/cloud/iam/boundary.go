package iam

import (
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// checkBoundary refuses a permissions boundary that is no policy.
func (d *Directory) checkBoundary(arn *string) error {
	if arn != nil && d.policies[*arn] == nil {
		return noSuchEntity("Scope ARN: %s does not exist or is not attachable.", *arn)
	}
	return nil
}

func putBoundary(c *IAM, r *Role, in *iam.PutRolePermissionsBoundaryInput) (*iam.PutRolePermissionsBoundaryOutput, error) {
	if err := c.Directory.checkBoundary(in.PermissionsBoundary); err != nil {
		return nil, err
	}
	r.boundary = account.Deref(in.PermissionsBoundary)
	return &iam.PutRolePermissionsBoundaryOutput{}, nil
}

func deleteBoundary(_ *IAM, r *Role, _ *iam.DeleteRolePermissionsBoundaryInput) (*iam.DeleteRolePermissionsBoundaryOutput, error) {
	if r.boundary == "" {
		return nil, noSuchEntity("The permissions boundary of role %s cannot be found.", r.Name)
	}
	r.boundary = ""
	return &iam.DeleteRolePermissionsBoundaryOutput{}, nil
}
