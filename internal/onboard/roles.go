package onboard

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

const roleResource = "packhorse_irsa_role"

// defaultSession is IAM's default for the longest session, in seconds.
const defaultSession = 3600

// roleItem writes a role. One that trusts others than ServiceAccounts cannot be
// imported, since the resource would take their trust away.
func roleItem(ctx context.Context, role *Role, cluster Cluster) (Item, error) {
	item := Item{Kind: "IRSA role", Name: role.Name, Resource: roleResource, ImportID: role.Name}
	item.arguments = role.arguments()
	add := item.add
	trust, err := policy.ParseTrust(role.Trust)
	if err != nil {
		item.ImportID = ""
		item.Notes = append(item.Notes, "it does not trust ServiceAccounts alone: "+err.Error())
	} else {
		var accounts []any
		for _, a := range trust.Accounts {
			accounts = append(accounts, map[string]any{"namespace": a.Namespace, "name": a.Name})
		}
		add("service_accounts", accounts)
		if trust.Cluster != "" {
			add("identity", map[bool]string{true: "pod-identity", false: "both"}[trust.Issuer == ""])
		}
		carries, err := annotated(ctx, role, trust.Accounts, cluster)
		if err != nil {
			return Item{}, err
		}
		if carries {
			item.Notes = append(item.Notes, "its ServiceAccounts carry its ARN: set annotate_service_account to have that kept")
		}
	}
	if role.MaxSession != defaultSession && role.MaxSession != 0 {
		add("max_session_duration", int64(role.MaxSession))
	}
	addPolicies(role, add)
	if len(role.Tags) > 0 {
		add("tags", role.Tags)
	}
	return item, nil
}

// add adds an argument.
func (i *Item) add(name string, value any) {
	i.arguments = append(i.arguments, terraform.Argument{Name: name, Value: value})
}

// arguments are those that all roles have in common, but their name.
func (r *Role) arguments() []terraform.Argument {
	var out []terraform.Argument
	if r.Path != "/" {
		out = append(out, terraform.Argument{Name: "path", Value: r.Path})
	}
	if r.Description != "" {
		out = append(out, terraform.Argument{Name: "description", Value: r.Description})
	}
	if r.Boundary != "" {
		out = append(out, terraform.Argument{Name: "permissions_boundary", Value: r.Boundary})
	}
	return out
}

// addPolicies writes the agent's own policies as the preset that they came from.
func addPolicies(role *Role, add func(string, any)) {
	own, preset := map[string]any{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(role.Inline)) {
		document := role.Inline[name]
		if slices.Contains(policy.Names, name) {
			preset[name] = document
			continue
		}
		own[name] = encoded(document)
	}
	if len(preset) > 0 {
		facts := policy.ParseAgent(preset)
		add("preset", "agent")
		add("node_roles", roleNames(facts.NodeRoles, role.ARN))
		if facts.Queue != "" {
			add("interruption_queue_arn", facts.Queue)
		}
	}
	if len(own) > 0 {
		add("policies", own)
	}
	if len(role.Attached) > 0 {
		add("policy_arns", role.Attached)
	}
}

// encoded writes a policy as HCL, or as the text that it is.
func encoded(document string) any {
	var tree any
	if json.Unmarshal([]byte(document), &tree) != nil {
		return document
	}
	return terraform.Encoded(tree)
}

// roleNames shortens the ARNs of roles of the account that another role is in.
func roleNames(arns []string, other string) []string {
	own, _, _ := strings.Cut(other, ":role/")
	out := make([]string, len(arns))
	for i, arn := range arns {
		out[i] = arn
		if name, ok := strings.CutPrefix(arn, own+":role/"); ok {
			out[i] = name
		}
	}
	return out
}
