package interruptionqueue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// model is the state of packhorse_interruption_queue.
type model struct {
	Name       types.String         `tfsdk:"name"`
	URL        types.String         `tfsdk:"url"`
	ARN        types.String         `tfsdk:"arn"`
	Policy     jsontypes.Normalized `tfsdk:"policy"`
	Retention  types.Int64          `tfsdk:"message_retention_seconds"`
	Visibility types.Int64          `tfsdk:"visibility_timeout_seconds"`
	KMSKeyID   types.String         `tfsdk:"kms_key_id"`
	RulePrefix types.String         `tfsdk:"rule_prefix"`
	Rules      types.Map            `tfsdk:"rules"`
	Tags       types.Map            `tfsdk:"tags"`
	TagsAll    types.Map            `tfsdk:"tags_all"`
	Timeouts   timeouts.Value       `tfsdk:"timeouts"`
}

// settle sets the computed attributes that follow from the configuration and the account.
func (m *model) settle(account *session.Account) error {
	arn := fmt.Sprintf("arn:%s:sqs:%s:%s:%s", account.Partition, account.Region, account.ID, m.Name.ValueString())
	document, err := policy.Queue(arn)
	if err != nil {
		return err
	}
	m.ARN, m.Policy = types.StringValue(arn), awsresource.SpeltAs(m.Policy, document)
	if m.RulePrefix.IsUnknown() {
		m.RulePrefix = m.Name
	}
	rules := map[string]string{}
	for _, event := range policy.InterruptionEvents() {
		rules[event.Key] = fmt.Sprintf("arn:%s:events:%s:%s:rule/%s", account.Partition, account.Region, account.ID, m.rule(event).Name)
	}
	m.Rules = value.Map(rules)
	return nil
}

// notEncrypted stands for the key in the state of a queue whose encryption somebody has turned off. It cannot be configured.
const notEncrypted = "(not encrypted)"

// queue returns the declared queue, or that of the state.
func (m *model) queue() asset.Queue {
	queue := asset.Queue{
		Name:       m.Name.ValueString(),
		Policy:     m.Policy.ValueString(),
		Retention:  m.Retention.ValueInt64(),
		Visibility: m.Visibility.ValueInt64(),
		Key:        m.KMSKeyID.ValueString(),
		Tags:       value.Strings(m.TagsAll),
	}
	if queue.Key == notEncrypted {
		queue.Key, queue.Plain = "", true
	}
	return queue
}

// rule returns the declared rule for events of a kind.
func (m *model) rule(event policy.InterruptionEvent) asset.Rule {
	return asset.Rule{
		Name:        event.RuleName(m.RulePrefix.ValueString()),
		Description: event.Tells + ".",
		Pattern:     event.Pattern(),
		Queue:       m.ARN.ValueString(),
		Tags:        value.Strings(m.TagsAll),
	}
}

// allRules returns the rules that may exist: the declared ones, and those that are left from an update that has
// failed.
func (m *model) allRules() []asset.Rule {
	var rules []asset.Rule
	recorded := slices.Sorted(maps.Keys(value.Strings(m.Rules)))
	for _, event := range policy.InterruptionEvents() {
		declared := m.rule(event)
		rules = append(rules, declared)
		for _, name := range recorded {
			if strings.HasSuffix(name, event.RuleName("")) && name != declared.Name {
				left := declared
				left.Name = name
				rules = append(rules, left)
			}
		}
	}
	return rules
}

// either returns the state after an update that has failed, so that there may be rules of both declarations. The
// rules have the names of before; those of another prefix are recorded by name. Tags that were to change are
// unfinished.
func either(before, now model) model {
	before.TagsAll = awsresource.EitherTags(before.TagsAll, now.TagsAll)
	rules, others := value.Strings(before.Rules), value.Strings(now.Rules)
	for _, event := range policy.InterruptionEvents() {
		if name := now.rule(event).Name; name != before.rule(event).Name {
			rules[name] = others[event.Key]
		}
	}
	before.Rules = value.Map(rules)
	return before
}
