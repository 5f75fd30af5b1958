// Package kubevalue holds the Terraform string types whose values are compared
// by meaning: Kubernetes quantities and durations.
package kubevalue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// QuantityType is the type of a Kubernetes quantity such as "500m" or "10Gi".
type QuantityType struct{ basetypes.StringType }

// Quantity is a Kubernetes quantity: "500m" equals "0.5", "1k" equals "1000".
type Quantity struct{ basetypes.StringValue }

var (
	_ basetypes.StringTypable                    = QuantityType{}
	_ basetypes.StringValuableWithSemanticEquals = Quantity{}
)

// Equal reports whether the other type is the same.
func (t QuantityType) Equal(o attr.Type) bool { _, ok := o.(QuantityType); return ok }

// String names the type.
func (t QuantityType) String() string { return "kubevalue.QuantityType" }

// ValueType returns an empty value of the type.
func (t QuantityType) ValueType(context.Context) attr.Value { return Quantity{} }

// ValueFromString wraps a string.
func (t QuantityType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Quantity{in}, nil
}

// ValueFromTerraform converts a value of the wire protocol.
func (t QuantityType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	return Quantity{value.(basetypes.StringValue)}, nil
}

// Type returns QuantityType.
func (q Quantity) Type(context.Context) attr.Type { return QuantityType{} }

// Equal reports whether both are spelt the same.
func (q Quantity) Equal(o attr.Value) bool {
	other, ok := o.(Quantity)
	return ok && q.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both are the same amount.
func (q Quantity) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Quantity)
	return ok && sameQuantity(q.ValueString(), other.ValueString()), nil
}

func sameQuantity(a, b string) bool {
	if a == b {
		return true
	}
	x, err := amount.Parse(a)
	if err != nil {
		return false
	}
	y, err := amount.Parse(b)
	return err == nil && x.Cmp(y) == 0
}
