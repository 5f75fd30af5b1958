// Package interruptionqueue is the resource packhorse_interruption_queue.
package interruptionqueue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// interruptionQueue is the resource packhorse_interruption_queue.
type interruptionQueue struct{ awsresource.Named }

var _ lifecycle.Resource = &interruptionQueue{}

// New returns the resource packhorse_interruption_queue.
func New() resource.Resource {
	return &interruptionQueue{awsresource.Named{
		Base:  lifecycle.Base{Suffix: "_interruption_queue", What: "Name of the queue.", Shape: resourceSchema},
		Names: []lifecycle.Naming{queueName(), rulePrefix()}, Origin: "aws_sqs_queue",
	}}
}

// Create creates the queue, writes the state, and then creates the rules. If a rule fails, the state has the
// queue, and Terraform replaces it.
func (r *interruptionQueue) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.Change(ctx, m.Name, m.ARN, m.Timeouts.Create, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		err := r.complete(&m, account)
		if err == nil {
			var url string
			url, err = account.Queues.Create(ctx, m.queue())
			m.URL = types.StringValue(url)
		}
		if err != nil {
			return err
		}
		lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
		resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.DeclaredKey, true)...)
		wanted := m.Rules
		m.Rules = value.Map(nil)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		if err := putRules(ctx, account.Queues, model{}, m); err != nil {
			return err
		}
		m.Rules = wanted
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

// Update changes the queue and its rules.
func (r *interruptionQueue) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var before, m model
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.Change(ctx, m.Name, before.ARN, m.Timeouts.Update, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		m.ARN, m.URL = before.ARN, before.URL
		err := r.complete(&m, account)
		if err == nil && m.URL.IsNull() { // the state was moved and not refreshed
			var url string
			_, url, _, err = account.Queues.Read(ctx, m.Name.ValueString())
			m.URL = types.StringValue(url)
		}
		if err != nil {
			return err
		}
		if err := change(ctx, account.Queues, before, m); err != nil {
			reached := either(before, m)
			resp.Diagnostics.Append(resp.State.Set(ctx, &reached)...)
			return err
		}
		lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

// change changes the queue, creates or changes the rules, and then deletes those that are not declared any more.
func change(ctx context.Context, queues session.Queues, before, now model) error {
	if err := queues.Update(ctx, now.URL.ValueString(), before.queue(), now.queue()); err != nil {
		return err
	}
	if err := putRules(ctx, queues, before, now); err != nil {
		return err
	}
	return deleteRules(ctx, queues, slices.DeleteFunc(before.allRules(), func(old asset.Rule) bool {
		return slices.ContainsFunc(now.allRules(), func(kept asset.Rule) bool { return kept.Name == old.Name })
	}))
}

// putRules creates or changes all rules.
func putRules(ctx context.Context, queues session.Queues, before, now model) error {
	for _, event := range policy.InterruptionEvents() {
		_, err := queues.PutRule(ctx, before.rule(event), now.rule(event))
		if errors.Is(err, fs.ErrExist) {
			return ruleTaken(now.rule(event))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ruleTaken returns the error of a rule that somebody else has made.
func ruleTaken(rule asset.Rule) error {
	return fmt.Errorf("EventBridge rule %s already exists and does not belong to this queue: set another `rule_prefix`, or delete the rule", rule.Name)
}

func deleteRules(ctx context.Context, queues session.Queues, rules []asset.Rule) error {
	for _, rule := range rules {
		if err := queues.DeleteRule(ctx, rule); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes the rules, and then the queue with its messages.
func (r *interruptionQueue) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	r.Change(ctx, m.Name, m.ARN, m.Timeouts.Delete, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		err := deleteRules(ctx, account.Queues, m.allRules())
		if err == nil {
			err = account.Queues.Delete(ctx, m.Name.ValueString(), m.URL.ValueString())
		}
		return err
	})
}

// complete sets everything that follows from the configuration and the account.
func (r *interruptionQueue) complete(m *model, account *session.Account) error {
	m.TagsAll = r.WithDefaultTags(m.Tags)
	return m.settle(account)
}

// queueName returns the naming of a queue by the attribute name.
func queueName() lifecycle.Naming {
	const title = "queue"
	return lifecycle.Naming{Attribute: "name", Title: title, LookUp: func(ctx context.Context, account *session.Account, name string, _ tfsdk.Plan) (diag.Diagnostic, error) {
		_, _, _, err := account.Queues.Read(ctx, name)
		return awsresource.Existing(title, name, err)
	}}
}

// rulePrefix returns the naming of the rules. A prefix is taken if one of their names is.
func rulePrefix() lifecycle.Naming {
	return lifecycle.Naming{Attribute: "rule_prefix", Title: "prefix of rules", LookUp: func(ctx context.Context, account *session.Account, prefix string, plan tfsdk.Plan) (diag.Diagnostic, error) {
		m := model{Name: types.StringValue(lifecycle.Text(ctx, plan.GetAttribute, "name")), RulePrefix: types.StringValue(prefix)}
		if m.Name.ValueString() == "" {
			return nil, nil
		}
		if err := m.settle(account); err != nil {
			return nil, err
		}
		for _, event := range policy.InterruptionEvents() {
			taken, err := account.Queues.RuleTaken(ctx, m.rule(event))
			switch {
			case err != nil:
				return nil, err
			case taken:
				return diag.NewAttributeErrorDiagnostic(path.Root("rule_prefix"), "rule_prefix: "+ruleTaken(m.rule(event)).Error(), ""), nil
			}
		}
		return nil, nil
	}}
}
