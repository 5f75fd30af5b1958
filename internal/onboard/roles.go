package onboard

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

const roleResource = "packhorse_irsa_role"

// roleItem writes a role. One that trusts others than ServiceAccounts, or under other
// conditions, cannot be imported, since the resource would change its trust.
func (s Scope) roleItem(ctx context.Context, role *Role, cluster Cluster) (Item, error) {
	item := Item{Kind: "IRSA role", Name: role.Name, Resource: roleResource, ImportID: role.Name}
	item.describe(role)
	trust, err := policy.ParseTrust(role.Trust)
	if err != nil {
		item.ImportID = ""
		item.Notes = append(item.Notes, "it trusts others than ServiceAccounts, or under other conditions: "+err.Error())
	} else {
		var accounts []any
		for _, a := range trust.Accounts {
			accounts = append(accounts, map[string]any{"namespace": a.Namespace, "name": a.Name})
		}
		item.add("service_accounts", accounts)
		if wanted, err := s.trustOf(trust); err != nil || !policy.SamePolicy(wanted, role.Trust) {
			item.ImportID = ""
			item.Notes = append(item.Notes, "the resource would change its trust policy")
		}
		item.addIf(trust.Cluster != "", "identity", map[bool]string{true: "pod-identity", false: "both"}[trust.Issuer == ""])
		carries, err := annotated(ctx, role, trust.Accounts, cluster)
		if err != nil {
			return Item{}, err
		}
		if carries {
			item.Notes = append(item.Notes, "its ServiceAccounts carry its ARN: set annotate_service_account to have that kept")
		}
	}
	item.addIf(role.MaxSession != asset.DefaultSession && role.MaxSession != 0, "max_session_duration", int64(role.MaxSession))
	item.addPolicies(role)
	return item, nil
}

// trustOf returns the trust policy that the resource would give in the cluster to a role of the trust that was found.
func (s Scope) trustOf(found policy.Trust) (string, error) {
	wanted := policy.Trust{Accounts: found.Accounts}
	if found.Issuer != "" {
		cluster := asset.Cluster{ARN: s.ARN, Issuer: s.Issuer}
		wanted.Issuer, wanted.Provider = s.Issuer, cluster.ProviderARN()
	}
	if found.Cluster != "" {
		wanted.Cluster = s.ARN
	}
	return wanted.JSON()
}

// add adds an argument.
func (i *Item) add(name string, value any) {
	i.arguments = append(i.arguments, terraform.Argument{Name: name, Value: value})
}

// addIf adds an argument that is set.
func (i *Item) addIf(set bool, name string, value any) {
	if set {
		i.add(name, value)
	}
}

// describe adds the arguments that all roles have in common, except for their name.
func (i *Item) describe(r *Role) {
	i.addIf(r.Path != "/", "path", r.Path)
	i.addIf(r.Description != "", "description", r.Description)
	i.addIf(r.Boundary != "", "permissions_boundary", r.Boundary)
	i.addTags(r.Tags)
}

// addTags adds the tags that can be declared.
func (i *Item) addTags(live map[string]string) {
	own := asset.OwnTags(live)
	i.addIf(len(own) > 0, "tags", own)
}

// addPolicies writes the agent's own policies as the preset that they came from.
func (i *Item) addPolicies(role *Role) {
	own, preset := map[string]any{}, map[string]string{}
	for name, document := range role.Inline {
		if slices.Contains(policy.Names, name) {
			preset[name] = document
		} else {
			own[name] = encoded(document)
		}
	}
	if len(preset) > 0 {
		facts := policy.ParseAgent(preset)
		i.add("preset", "agent")
		account, _, _ := strings.Cut(role.ARN, ":role/")
		i.add("node_roles", policy.RoleNames(facts.NodeRoles, account))
		i.addIf(facts.Queue != "", "interruption_queue_arn", facts.Queue)
		i.addIf(facts.NodePools, "node_pools", true)
	}
	i.addIf(len(own) > 0, "policies", own)
	i.addIf(len(role.Attached) > 0, "policy_arns", role.Attached)
}

// encoded writes a policy as HCL, or as the text that it is.
func encoded(document string) any {
	var tree any
	if json.Unmarshal([]byte(document), &tree) != nil {
		return document
	}
	return terraform.Encoded(tree)
}
