// Package kubevalue contains the Terraform string type of Kubernetes quantities and durations, which are
// compared by their meaning.
package kubevalue

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// Type is the type of a Kubernetes quantity such as "500m" or "10Gi", and of a duration such as "90s" or
// "1h30m". One type serves both: two texts that are valid as quantities and as durations are equal as the
// one exactly if they are equal as the other.
type Type struct{ basetypes.StringType }

// Value is a quantity or a duration: "500m" equals "0.5", "1k" equals "1000", and "90s"
// equals "1m30s".
type Value struct{ basetypes.StringValue }

var (
	_ basetypes.StringTypable                    = Type{}
	_ basetypes.StringValuableWithSemanticEquals = Value{}
)

// Equal reports whether the other type is the same.
func (t Type) Equal(o attr.Type) bool { _, ok := o.(Type); return ok }

// String names the type.
func (t Type) String() string { return "kubevalue.Type" }

// ValueType returns an empty value of the type.
func (t Type) ValueType(context.Context) attr.Value { return Value{} }

// ValueFromString wraps a string.
func (t Type) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Value{in}, nil
}

// ValueFromTerraform converts a value of the wire protocol.
func (t Type) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	return Value{value.(basetypes.StringValue)}, nil
}

// Type returns Type.
func (v Value) Type(context.Context) attr.Type { return Type{} }

// Equal reports whether both have the same spelling.
func (v Value) Equal(o attr.Value) bool {
	other, ok := o.(Value)
	return ok && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both are the same quantity or the same duration.
func (v Value) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Value)
	return ok && same(v.ValueString(), other.ValueString()), nil
}

func same(a, b string) bool { return a == b || sameQuantity(a, b) || sameDuration(a, b) }

func sameQuantity(a, b string) bool {
	x, err := amount.Parse(a)
	if err != nil {
		return false
	}
	y, err := amount.Parse(b)
	return err == nil && x.Cmp(y) == 0
}

func sameDuration(a, b string) bool {
	x, err := time.ParseDuration(a)
	if err != nil {
		return false
	}
	y, err := time.ParseDuration(b)
	return err == nil && x == y
}
