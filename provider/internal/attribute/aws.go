package attribute

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// ForceConflicts returns the attribute force_conflicts, with which a resource takes over fields of
// other field managers.
func ForceConflicts() schema.BoolAttribute {
	return schema.BoolAttribute{
		Optional: true,
		MarkdownDescription: "Whether to take over fields that other field managers have set. By default `force_conflicts` of " +
			"the provider block. It is not needed to restore a field that this resource set before.",
	}
}

// FormText returns an optional string with the form of a name or an ARN in AWS.
func FormText(description string, form policy.Form) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{Form(form)}}
}

// ComputedARN returns a computed string that identifies what the resource creates. Plans keep its
// value from the state, if it has one: one that was moved and not refreshed does not.
func ComputedARN(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: description,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
	}
}

// Tags returns the attributes tags and tags_all. what names the tagged resources in the description.
func Tags(what string) Level {
	return Level{
		"tags": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Tags of " + what + ", in addition to the provider's `default_tags`.",
			Validators: []validator.Map{ValidTags{}},
		},
		"tags_all": schema.MapAttribute{
			Computed: true, ElementType: types.StringType, MarkdownDescription: "All tags of the resource, including the " +
				"provider's `default_tags`. After an update that failed, tags whose update may be incomplete are shown as `(unfinished)`.",
		},
	}
}
