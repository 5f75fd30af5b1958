package provider

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/types"
)

// private is a private state in memory.
type private map[string][]byte

func (p private) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	p[key] = value
	return nil
}

func (p private) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return p[key], nil
}

func TestRecordedCluster(t *testing.T) {
	tests := map[string]struct {
		recorded, live types.UID
		imported, same bool
	}{
		"just imported":   {"", "a", true, true},
		"the same":        {"a", "a", false, true},
		"another cluster": {"a", "b", false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state, diags := private{}, diag.Diagnostics{}
			if tt.recorded != "" {
				diags.Append(recordCluster(t.Context(), state, tt.recorded)...)
			}
			imported, same := recordedCluster(t.Context(), state, tt.live, &diags)
			if imported != tt.imported || same != tt.same || diags.HasError() {
				t.Errorf("imported, same = %v, %v (%v), want %v, %v", imported, same, diags, tt.imported, tt.same)
			}
		})
	}
}

func TestIssuerRecord(t *testing.T) {
	state := private{}
	if diags := (issuerRecord{Derived: true}).save(t.Context(), state); diags.HasError() {
		t.Fatal(diags)
	}
	got, diags := loadIssuerRecord(t.Context(), state)
	if !got.Derived || diags.HasError() {
		t.Errorf("record = %+v, %v", got, diags)
	}
}
