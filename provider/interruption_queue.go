package provider

import (
	"context"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// interruptionQueue is the resource packhorse_interruption_queue.
type interruptionQueue struct{ named }

var (
	_ resource.ResourceWithConfigure      = &interruptionQueue{}
	_ resource.ResourceWithIdentity       = &interruptionQueue{}
	_ resource.ResourceWithImportState    = &interruptionQueue{}
	_ resource.ResourceWithModifyPlan     = &interruptionQueue{}
	_ resource.ResourceWithMoveState      = &interruptionQueue{}
	_ resource.ResourceWithUpgradeState   = &interruptionQueue{}
	_ resource.ResourceWithValidateConfig = &interruptionQueue{}
)

// NewInterruptionQueue returns the resource packhorse_interruption_queue.
func NewInterruptionQueue() resource.Resource {
	return &interruptionQueue{named{suffix: "_interruption_queue", what: "Name of the queue.", names: []naming{queueName()}}}
}

func (r *interruptionQueue) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = interruptionQueueSchema(ctx)
}

// Create creates the queue, records it, and then the rules that fill it: a queue
// that was left without some of them is known to the state and replaced.
func (r *interruptionQueue) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = r.session.Mask(ctx)
	var m queueModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	ctx, cancel := limited(ctx, m.Timeouts.Create, 0, &resp.Diagnostics)
	defer cancel()
	account := accountOf(ctx, r.session, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	err := r.complete(ctx, &m, account)
	if err == nil {
		var url string
		url, err = account.Queues.Create(ctx, m.queue())
		m.URL = types.StringValue(url)
	}
	if err != nil {
		resp.Diagnostics.Append(queueError(m, err))
		return
	}
	setName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
	resp.Diagnostics.Append(markDeclared(ctx, resp.Private)...)
	wanted := m.Rules
	m.Rules = stringMap(nil)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	if err := putRules(ctx, account.Queues, queueModel{}, m); err != nil {
		resp.Diagnostics.Append(queueError(m, err))
		return
	}
	m.Rules = wanted
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update brings the queue and its rules from the state to the plan.
func (r *interruptionQueue) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = r.session.Mask(ctx)
	var before, m queueModel
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	ctx, cancel := limited(ctx, m.Timeouts.Update, 0, &resp.Diagnostics)
	defer cancel()
	account := accountOf(ctx, r.session, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	m.ARN, m.URL = before.ARN, before.URL
	err := r.complete(ctx, &m, account)
	if err == nil {
		err = account.Queues.Update(ctx, m.URL.ValueString(), before.queue(), m.queue())
	}
	if err == nil {
		err = putRules(ctx, account.Queues, before, m)
	}
	if err == nil && !before.RulePrefix.Equal(m.RulePrefix) {
		err = deleteRules(ctx, account.Queues, before)
	}
	if err != nil {
		resp.Diagnostics.Append(queueError(m, err))
		return
	}
	setName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// putRules brings all rules to the declared state.
func putRules(ctx context.Context, queues session.Queues, before, now queueModel) error {
	for _, event := range policy.InterruptionEvents() {
		if _, err := queues.PutRule(ctx, before.rule(event), now.rule(event)); err != nil {
			return err
		}
	}
	return nil
}

func deleteRules(ctx context.Context, queues session.Queues, m queueModel) error {
	for _, event := range policy.InterruptionEvents() {
		if err := queues.DeleteRule(ctx, m.rule(event).Name); err != nil {
			return err
		}
	}
	return nil
}

// Delete removes the rules, so that nothing is sent any more, and then the queue
// with what is on it.
func (r *interruptionQueue) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = r.session.Mask(ctx)
	var m queueModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	ctx, cancel := limited(ctx, m.Timeouts.Delete, 0, &resp.Diagnostics)
	defer cancel()
	account := accountOf(ctx, r.session, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	err := deleteRules(ctx, account.Queues, m)
	if err == nil {
		err = account.Queues.Delete(ctx, m.Name.ValueString(), m.URL.ValueString())
	}
	if err != nil {
		resp.Diagnostics.Append(queueError(m, err))
	}
}

// complete settles all that follows from the configuration and the account.
func (r *interruptionQueue) complete(ctx context.Context, m *queueModel, account *session.Account) error {
	tags, diags := withDefaultTags(ctx, m.Tags, r.session.Config.DefaultTags)
	if diags.HasError() {
		return errors.New(diags.Errors()[0].Summary())
	}
	m.TagsAll = tags
	return m.settle(placeIn(account))
}

func queueError(m queueModel, err error) diag.Diagnostic {
	name := m.Name.ValueString()
	if errors.Is(err, fs.ErrExist) {
		return existsAlready(queueTitle+" "+name, name)
	}
	return awsError(queueTitle+" "+name, err)
}
