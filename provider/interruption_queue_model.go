package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// queueModel is packhorse_interruption_queue.
type queueModel struct {
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

// settle fills in the computed attributes that follow from the configuration and
// the place.
func (m *queueModel) settle(p place) error {
	arn := fmt.Sprintf("arn:%s:sqs:%s:%s:%s", p.partition, p.region, p.account, m.Name.ValueString())
	document, err := policy.Queue(arn)
	if err != nil {
		return err
	}
	m.ARN, m.Policy = types.StringValue(arn), jsontypes.NewNormalizedValue(document)
	if m.RulePrefix.IsUnknown() {
		m.RulePrefix = m.Name
	}
	rules := map[string]string{}
	for _, event := range policy.InterruptionEvents() {
		rules[event.Key] = fmt.Sprintf("arn:%s:events:%s:%s:rule/%s", p.partition, p.region, p.account, m.rule(event).Name)
	}
	m.Rules = stringMap(rules)
	return nil
}

// queue is the declared state of the queue.
func (m *queueModel) queue() session.Queue {
	return session.Queue{
		Name:       m.Name.ValueString(),
		Policy:     m.Policy.ValueString(),
		Retention:  m.Retention.ValueInt64(),
		Visibility: m.Visibility.ValueInt64(),
		Key:        m.KMSKeyID.ValueString(),
		Tags:       mapStrings(m.TagsAll),
	}
}

// rule is the declared state of the rule for events of a kind.
func (m *queueModel) rule(event policy.InterruptionEvent) session.Rule {
	return session.Rule{
		Name:        event.RuleName(m.RulePrefix.ValueString()),
		Description: event.Tells + ".",
		Pattern:     event.Pattern(),
		Queue:       m.ARN.ValueString(),
		Tags:        mapStrings(m.TagsAll),
	}
}

// stringMap returns a map, which is empty for nil.
func stringMap(elements map[string]string) types.Map {
	values := make(map[string]attr.Value, len(elements))
	for key, e := range elements {
		values[key] = types.StringValue(e)
	}
	return types.MapValueMust(types.StringType, values)
}
