package awsresource

import (
	"fmt"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Place is where a role is: what its policies say beside the configuration.
type Place struct {
	Partition, Account, Region string
}

// PlaceIn is the place of roles in an account.
func PlaceIn(account *session.Account) Place {
	return Place{account.Partition, account.ID, account.Region}
}

func (p Place) rolePrefix() string {
	return fmt.Sprintf("arn:%s:iam::%s:role/", p.Partition, p.Account)
}

// ClusterARN is the ARN of a cluster in the account and region.
func (p Place) ClusterARN(name string) string {
	return policy.ClusterARN(p.Partition, p.Region, p.Account, name)
}

// RoleName is the shortest form in which a role of this account can be given.
func (p Place) RoleName(arn string) string {
	if name, ok := strings.CutPrefix(arn, p.rolePrefix()); ok && !strings.Contains(name, "/") {
		return name
	}
	return arn
}
