// Package attribute constructs the attributes of schemas, with their validators.
package attribute

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
)

// Level is one level of a schema.
type Level = map[string]schema.Attribute

// The attributes of custom resources. They are optional and have no defaults unless their names say
// otherwise, because the provider declares only what the configuration sets.

// Text is a string.
func Text(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

// RequiredText is a string that the configuration must set.
func RequiredText(description string) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description}
}

// Name is the name of an object. Changing it replaces the object.
func Name(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Required:            true,
		MarkdownDescription: description + " Changing it forces a replacement.",
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

// Flag is a boolean.
func Flag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

// RequiredFlag is a boolean that the configuration must set.
func RequiredFlag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Required: true, MarkdownDescription: description}
}

// Number is a whole number.
func Number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, MarkdownDescription: description}
}

// Texts is a list of strings.
func Texts(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

// TextMap is a map of strings.
func TextMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

// Measure is a quantity such as 500m or 2Gi, or a duration such as 1h30m. Another spelling of the
// same value is not a change.
func Measure(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		CustomType:          kubevalue.Type{},
		MarkdownDescription: description,
		Validators:          []validator.String{kubevalue.UnsignedZero{}},
		PlanModifiers:       []planmodifier.String{kubevalue.KeepSpelling{}},
	}
}

// MeasureMap is a map of quantities or durations.
func MeasureMap(description string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional:            true,
		ElementType:         kubevalue.Type{},
		MarkdownDescription: description,
		Validators:          []validator.Map{kubevalue.UnsignedZero{}},
		PlanModifiers:       []planmodifier.Map{kubevalue.KeepSpelling{}},
	}
}

// RequiredMeasure is a quantity or a duration that the configuration must set.
func RequiredMeasure(description string) schema.StringAttribute {
	out := Measure(description)
	out.Required, out.Optional = true, false
	return out
}

// Object is a nested object.
func Object(description string, inner Level) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, Attributes: inner, MarkdownDescription: description}
}

// Objects is a list of nested objects.
func Objects(description string, inner Level) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{
		Optional:            true,
		NestedObject:        schema.NestedAttributeObject{Attributes: inner},
		MarkdownDescription: description,
	}
}
