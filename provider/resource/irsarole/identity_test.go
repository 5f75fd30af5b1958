package irsarole

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// associations are those of a cluster in which each has the ServiceAccount's name as its id.
type associations struct{ session.Associations }

func (associations) Ensure(_ context.Context, _ map[string]string, wanted asset.Association) (id string, err error) {
	return wanted.Account.Name, nil
}

// EKS does not give the role to pods that are created before a new association has an effect, such as those of an agent
// that is installed by the same apply.
func TestNewAssociationsHaveAnEffectWhenTheRoleIsDone(t *testing.T) {
	const lag = 10 * time.Second
	tests := map[string]struct {
		there map[string]string
		want  time.Duration
	}{
		"all are new":    {nil, lag},
		"one is new":     {map[string]string{"web/one": "one"}, lag},
		"one is another": {map[string]string{"web/one": "one", "web/two": "replaced"}, lag},
		"all are there":  {map[string]string{"web/one": "one", "web/two": "two"}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := model{Identity: types.StringValue(byPodIdentity), ClusterName: types.StringValue("prod"),
					ServiceAccounts: accountSet([]policy.ServiceAccount{{Namespace: "web", Name: "one"}, {Namespace: "web", Name: "two"}})}
				before := m
				before.PodIdentityAssociations = value.Map(tt.there)
				began := time.Now()
				if err := m.associate(t.Context(), &session.Account{Associations: associations{}, AssociationLag: lag}, before); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); waited != tt.want {
					t.Errorf("waited %s, want %s", waited, tt.want)
				}
			})
		})
	}
}
