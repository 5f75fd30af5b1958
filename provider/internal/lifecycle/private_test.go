package lifecycle

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
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

func TestClusterRecord(t *testing.T) {
	tests := map[string]struct {
		recorded         *ClusterRecord
		elsewhere, moved bool
	}{
		"just imported":   {nil, false, false},
		"the same":        {&ClusterRecord{UID: "a"}, false, false},
		"another cluster": {&ClusterRecord{UID: "b"}, true, false},
		"just moved":      {&ClusterRecord{Moved: true}, false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state, diags := private{}, diag.Diagnostics{}
			if tt.recorded != nil {
				diags.Append(tt.recorded.Save(t.Context(), state)...)
			}
			got := loadCluster(t.Context(), state, &diags)
			if got.Elsewhere("a") != tt.elsewhere || got.HasMoved() != tt.moved || (got == nil) != (tt.recorded == nil) || diags.HasError() {
				t.Errorf("record = %+v (%v), want elsewhere %v, moved %v", got, diags, tt.elsewhere, tt.moved)
			}
		})
	}
}
