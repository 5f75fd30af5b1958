package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// keeper keeps an installation without nodes. Its Remove ends with an error at the Namespace, if there is one.
type keeper struct {
	session.Installation
	live []*unstructured.Unstructured
	err  error
}

func (k *keeper) Holdings(context.Context) (install.Holdings, error)              { return install.Holdings{}, nil }
func (k *keeper) Drain(context.Context, []string, func(remaining []string)) error { return nil }
func (k *keeper) RemoveLease(context.Context, string) error                       { return nil }

func (k *keeper) Read(_ context.Context, declared []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	return pick(declared, k.live), nil
}

func (k *keeper) Remove(_ context.Context, objects []*unstructured.Unstructured) ([]string, error) {
	for _, o := range slices.Backward(objects) {
		if k.err != nil && o.GetKind() == "Namespace" {
			return nil, k.err
		}
		k.live = slices.DeleteFunc(k.live, func(l *unstructured.Unstructured) bool {
			return l.GetKind() == o.GetKind() && l.GetName() == o.GetName()
		})
	}
	return nil, nil
}

func installed(t *testing.T) (*model, *keeper) {
	t.Helper()
	m := &model{Namespace: types.StringValue("packhorse"), Name: types.StringValue("packhorse-agent"), CreateNamespace: types.BoolValue(true)}
	objects, err := m.inventory()
	if err != nil {
		t.Fatal(err)
	}
	return m, &keeper{live: objects}
}

// A namespace may not go in time. Then everything else is gone, and the next destroy goes on.
func TestUninstallEndsWithTheNamespace(t *testing.T) {
	stays := errors.New("Namespace packhorse was not deleted in time")
	for name, tt := range map[string]struct {
		err, want error
		warnings  int
	}{
		"it stays":              {stays, stays, 0},
		"only the cluster ends": {fmt.Errorf("Namespace packhorse: %w\n  one API does not answer", install.ErrTerminating), nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m, k := installed(t)
			k.err = tt.err
			var diags diag.Diagnostics
			err := uninstall(t.Context(), m, slices.Clone(k.live), k, &diags)
			if !errors.Is(err, tt.want) || diags.HasError() || diags.WarningsCount() != tt.warnings {
				t.Errorf("uninstall() = %v, %v", err, diags)
			}
			var left []string
			for _, o := range k.live {
				left = append(left, o.GetKind())
			}
			if diff := cmp.Diff([]string{"Namespace"}, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// What is left of an installation decides whether a refresh forgets it.
func TestRefreshForgetsOnlyWhatIsGone(t *testing.T) {
	r := &agentResource{session: &session.Session{}}
	for name, tt := range map[string]struct {
		change func(*model, *keeper)
		want   bool
	}{
		"the namespace is left":        {func(*model, *keeper) {}, false},
		"nothing is left":              {func(_ *model, k *keeper) { k.live = nil }, true},
		"it was not made for an agent": {func(_ *model, k *keeper) { k.live[0].SetLabels(nil) }, true},
		"it is an import":              {func(m *model, _ *keeper) { m.CreateNamespace = types.BoolNull() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, k := installed(t)
			k.live, _ = split(k.live, "Namespace")
			tt.change(m, k)
			var diags diag.Diagnostics
			gone, err := r.refresh(t.Context(), m, k, &diags)
			if err != nil || gone != tt.want {
				t.Errorf("refresh() = %t, %v, want %t", gone, err, tt.want)
			}
		})
	}
}

// unscalable is an installation whose Deployments may not be scaled back. Whatever else is asked of it panics.
type unscalable struct{ session.Installation }

func (unscalable) MayScaleBack(context.Context) error { return errors.New("no right to scale") }

// A destroy that leaves the nodes does not remove the agent before it is sure that it can do what is left to do.
func TestOrphanBeginsNothingThatItMayNotFinish(t *testing.T) {
	var diags diag.Diagnostics
	orphan(t.Context(), &model{}, unscalable{}, install.Holdings{}, &diags)
	if len(diags) != 1 || !strings.Contains(diags[0].Summary(), "the agent has not been removed: no right to scale") {
		t.Errorf("diagnostics %v", diags)
	}
}
