package interruptionqueue

import (
	"context"
	"maps"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// The limits of SQS and EventBridge. Times are in seconds.
const (
	minRetention  = 60
	maxRetention  = 1209600
	maxVisibility = 43200
	maxRuleName   = 64
)

const interruptionQueueDescription = "An SQS queue that tells the agent about interruptions of machines, with its policy and " +
	"the EventBridge rules that send events to it.\n\nThe events are spot interruption warnings, rebalance recommendations, " +
	"changes of an instance's state, interruptions of capacity reservations, and AWS Health events. The policy lets " +
	"EventBridge send messages and requires TLS. Messages are encrypted."

func resourceSchema(ctx context.Context) schema.Schema {
	level := attribute.Level{
		"name": queueNameAttribute(),
		"url":  attribute.ComputedARN("URL of the queue."),
		"arn":  attribute.ComputedARN("ARN of the queue, for `packhorse_irsa_role.interruption_queue_arn`."),
		"policy": schema.StringAttribute{
			Computed: true, CustomType: jsontypes.NormalizedType{}, MarkdownDescription: "Policy of the queue, as JSON.",
		},
		"message_retention_seconds": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(asset.DefaultRetention),
			MarkdownDescription: "Seconds for which an event is kept, 60 to 1209600. 300 by default, after which a spot interruption is over. " +
				"An event that no agent reads in this time is lost, including one about maintenance that AWS Health has announced.",
			Validators: []validator.Int64{int64validator.Between(minRetention, maxRetention)},
		},
		"visibility_timeout_seconds": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(asset.DefaultVisibility),
			MarkdownDescription: "Seconds for which an event is hidden while the agent processes it, 0 to 43200. 30 by default.",
			Validators:          []validator.Int64{int64validator.Between(0, maxVisibility)},
		},
		"kms_key_id": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Id, alias or ARN of your own KMS key for the messages. Its policy must allow `events.amazonaws.com` to use it, " +
				"and the agent's role needs `kms:Decrypt`. By default SQS manages the key. AWS managed keys such as `alias/aws/sqs` are refused, " +
				"because EventBridge cannot use them.",
			Validators: []validator.String{attribute.KeyForEvents()},
		},
		"rule_prefix": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Prefix of the names of the rules. By default the name of the queue. Rules of these names that others have created are not taken over.",
			Validators:          []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[.\-_A-Za-z0-9]+$`), "may only contain letters, digits and .-_")},
		},
		"rules": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "ARNs of the rules, by kind of event: `capacity-reservation`, `health`, `rebalance`, `spot` and `state`. After an update that failed, also those that the next apply deletes, by name.",
		},
	}
	maps.Copy(level, attribute.Tags("the queue and its rules"))
	return schema.Schema{Version: lifecycle.SchemaVersion, MarkdownDescription: interruptionQueueDescription, Attributes: level, Blocks: awsresource.Timeouts(ctx)}
}

func queueNameAttribute() schema.StringAttribute {
	name := attribute.Name("Name of the queue.")
	name.Validators = []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`),
		"must consist of 1 to 80 letters, digits, hyphens and underscores")}
	return name
}
