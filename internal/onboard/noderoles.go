package onboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

const nodeRoleResource = "packhorse_node_role"

// NodeRole is a role by which a cluster admits machines.
type NodeRole struct {
	Role
	// Entry is the type of the access entry: EC2_LINUX or EC2_WINDOWS.
	Entry string
	// Profiles are the instance profiles that hold the role, in order.
	Profiles []asset.Profile
}

// nodeRoleItems writes the roles of machines. Those that EKS keeps for managed node
// groups alone stay with these. Where not all groups are known, each that EKS keeps a profile for may be theirs.
func nodeRoleItems(roles []NodeRole, groups []offer.NodeGroup, known bool) []Item {
	var out []Item
	for i := range roles {
		role := &roles[i]
		ofGroup := !known && len(role.Profiles) > 0 || slices.ContainsFunc(groups, func(g offer.NodeGroup) bool { return g.Role == role.ARN })
		if ofGroup && !slices.ContainsFunc(role.Profiles, func(p asset.Profile) bool { return keeperOf(p) != eksKeeper }) {
			continue
		}
		out = append(out, nodeRoleItem(role))
	}
	return out
}

// nodeRoleItem writes one role. One that the resource would change cannot be
// imported without that change, so that it is a suggestion.
func nodeRoleItem(role *NodeRole) Item {
	item := Item{Kind: "node role", Name: role.Name, Resource: nodeRoleResource, ImportID: role.Name}
	item.describe(&role.Role)
	needed := policy.NodePolicies(partitionOf(role.ARN), true)
	item.addIf(!slices.Contains(role.Attached, needed[len(needed)-1]), "cni_policy", false)
	others := slices.DeleteFunc(slices.Clone(role.Attached), func(arn string) bool { return slices.Contains(needed, arn) })
	item.addIf(len(others) > 0, "policy_arns", others)
	own := map[string]any{}
	for name, document := range role.Inline {
		own[name] = encoded(document)
	}
	item.addIf(len(own) > 0, "policies", own)
	profile, ok := role.profile()
	item.addIf(ok && profile.Name != role.Name, "instance_profile", profile.Name)
	item.addIf(role.Entry != asset.LinuxEntry, "access_entry", role.Entry)
	if changes := role.changes(); len(changes) > 0 {
		item.ImportID, item.Notes = "", changes
	}
	return item
}

// profile is the instance profile that an import takes: the one of the role's own
// name, or else the first.
func (r *NodeRole) profile() (asset.Profile, bool) {
	for _, p := range r.Profiles {
		if p.Name == r.Name {
			return p, true
		}
	}
	if len(r.Profiles) == 0 {
		return asset.Profile{}, false
	}
	return r.Profiles[0], true
}

// changes says what the resource would change.
func (r *NodeRole) changes() []string {
	var out []string
	if wanted, err := policy.NodeTrust(partitionOf(r.ARN)); err != nil || !policy.SamePolicy(wanted, r.Trust) {
		out = append(out, "the resource would have the role trust EC2 alone")
	}
	for _, arn := range policy.NodePolicies(partitionOf(r.ARN), false) {
		if !slices.Contains(r.Attached, arn) {
			out = append(out, "the resource would attach "+arn)
		}
	}
	switch profile, ok := r.profile(); {
	case !ok:
		out = append(out, "the resource would make an instance profile")
	case profile.Path != r.Path:
		out = append(out, fmt.Sprintf("instance profile %s has another path than the role", profile.Name))
	}
	return out
}

// partitionOf is the partition in an ARN.
func partitionOf(arn string) string {
	parts := strings.SplitN(arn, ":", 3)
	if len(parts) < 3 {
		return "aws"
	}
	return parts[1]
}
