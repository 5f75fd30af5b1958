package awsresource

import (
	"fmt"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Place is what ARNs contain besides names.
type Place struct {
	Partition, Account, Region string
}

// PlaceIn returns the place of an account.
func PlaceIn(account *session.Account) Place {
	return Place{account.Partition, account.ID, account.Region}
}

func (p Place) rolePrefix() string {
	return fmt.Sprintf("arn:%s:iam::%s:role/", p.Partition, p.Account)
}

// ClusterARN returns the ARN of an EKS cluster in the account and region.
func (p Place) ClusterARN(name string) string {
	return policy.ClusterARN(p.Partition, p.Region, p.Account, name)
}

// RoleName returns the name of a role of this account that has no path, and otherwise its ARN.
func (p Place) RoleName(arn string) string {
	if name, ok := strings.CutPrefix(arn, p.rolePrefix()); ok && !strings.Contains(name, "/") {
		return name
	}
	return arn
}
