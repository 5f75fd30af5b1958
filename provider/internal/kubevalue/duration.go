package kubevalue

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// DurationType is the type of a duration such as "90s" or "1h30m".
type DurationType struct{ basetypes.StringType }

// Duration is a length of time: "90s" equals "1m30s".
type Duration struct{ basetypes.StringValue }

var (
	_ basetypes.StringTypable                    = DurationType{}
	_ basetypes.StringValuableWithSemanticEquals = Duration{}
)

// Equal reports whether the other type is the same.
func (t DurationType) Equal(o attr.Type) bool { _, ok := o.(DurationType); return ok }

// String names the type.
func (t DurationType) String() string { return "kubevalue.DurationType" }

// ValueType returns an empty value of the type.
func (t DurationType) ValueType(context.Context) attr.Value { return Duration{} }

// ValueFromString wraps a string.
func (t DurationType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Duration{in}, nil
}

// ValueFromTerraform converts a value of the wire protocol.
func (t DurationType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	return Duration{value.(basetypes.StringValue)}, nil
}

// Type returns DurationType.
func (d Duration) Type(context.Context) attr.Type { return DurationType{} }

// Equal reports whether both are spelt the same.
func (d Duration) Equal(o attr.Value) bool {
	other, ok := o.(Duration)
	return ok && d.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both are the same length of time.
func (d Duration) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Duration)
	return ok && sameDuration(d.ValueString(), other.ValueString()), nil
}

func sameDuration(a, b string) bool {
	if a == b {
		return true
	}
	x, err := time.ParseDuration(a)
	if err != nil {
		return false
	}
	y, err := time.ParseDuration(b)
	return err == nil && x == y
}
