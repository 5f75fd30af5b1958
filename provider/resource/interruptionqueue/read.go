package interruptionqueue

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// Read refreshes the state from SQS and EventBridge.
func (r *interruptionQueue) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	name := m.Name.ValueString()
	r.Refresh(ctx, name, m.ARN, resp, func(ctx context.Context, account *session.Account) error {
		live, url, arn, err := account.Queues.Read(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			resp.State.RemoveResource(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		if awsresource.Imported(m.ARN) {
			m.Tags, m.TagsAll = awsresource.ImportedTags(live.Tags, r.Session.Config.DefaultTags)
			fed, err := account.Queues.Fed(ctx, policy.InterruptionPatterns())
			if err != nil {
				return err
			}
			m.RulePrefix = types.StringValue(cmp.Or(policy.RulePrefix(fed[arn]), name))
		}
		resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.DeclaredKey, true)...)
		m.URL, m.ARN = types.StringValue(url), types.StringValue(arn)
		m.refresh(live)
		if err := m.refreshRules(ctx, account.Queues); err != nil {
			return err
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

// refresh sets the declared attributes to the live values.
func (m *model) refresh(live asset.Queue) {
	m.Policy = jsontypes.NewNormalizedValue(live.Policy)
	if live.Policy == "" {
		m.Policy = jsontypes.NewNormalizedNull()
	}
	m.Retention, m.Visibility = types.Int64Value(live.Retention), types.Int64Value(live.Visibility)
	m.KMSKeyID = value.Declared(m.KMSKeyID, live.Key)
	if live.Plain {
		m.KMSKeyID = types.StringValue(notEncrypted)
	}
	m.Tags, m.TagsAll = awsresource.RefreshTags(m.Tags, live.Tags), awsresource.RefreshTags(m.TagsAll, live.Tags)
}

// refreshRules sets rules to those that do what is declared. It keeps those that are recorded by name, so that
// the next apply deletes them.
func (m *model) refreshRules(ctx context.Context, queues session.Queues) error {
	rules := value.Strings(m.Rules)
	for _, event := range policy.InterruptionEvents() {
		arn, err := queues.ReadRule(ctx, m.rule(event))
		if err != nil {
			return err
		}
		delete(rules, event.Key)
		if arn != "" {
			rules[event.Key] = arn
		}
	}
	m.Rules = value.Map(rules)
	return nil
}
