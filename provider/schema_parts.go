package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
)

// attributes is a level of a schema.
type attributes = map[string]schema.Attribute

// The attribute forms that the custom resources are made of. All of them are
// optional unless their name says otherwise: what the configuration does not
// set is not declared to the cluster.

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func requiredText(description string) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description}
}

func nameAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Required:            true,
		MarkdownDescription: description + " Changing it forces a replacement.",
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

func flag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

func requiredFlag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Required: true, MarkdownDescription: description}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, MarkdownDescription: description}
}

func texts(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

func textMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

func quantity(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		CustomType:          kubevalue.QuantityType{},
		MarkdownDescription: description,
		Validators:          []validator.String{kubevalue.UnsignedZero{}},
		PlanModifiers:       []planmodifier.String{kubevalue.KeepSpelling{}},
	}
}

func quantityMap(description string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional:            true,
		ElementType:         kubevalue.QuantityType{},
		MarkdownDescription: description,
		Validators:          []validator.Map{kubevalue.UnsignedZero{}},
		PlanModifiers:       []planmodifier.Map{kubevalue.KeepSpelling{}},
	}
}

func duration(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		CustomType:          kubevalue.DurationType{},
		MarkdownDescription: description,
		Validators:          []validator.String{kubevalue.UnsignedZero{}},
		PlanModifiers:       []planmodifier.String{kubevalue.KeepSpelling{}},
	}
}

func requiredDuration(description string) schema.StringAttribute {
	out := duration(description)
	out.Required, out.Optional = true, false
	return out
}

func durationMap(description string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional:            true,
		ElementType:         kubevalue.DurationType{},
		MarkdownDescription: description,
		Validators:          []validator.Map{kubevalue.UnsignedZero{}},
		PlanModifiers:       []planmodifier.Map{kubevalue.KeepSpelling{}},
	}
}

func object(description string, inner attributes) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, Attributes: inner, MarkdownDescription: description}
}

func objects(description string, inner attributes) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{
		Optional:            true,
		NestedObject:        schema.NestedAttributeObject{Attributes: inner},
		MarkdownDescription: description,
	}
}
