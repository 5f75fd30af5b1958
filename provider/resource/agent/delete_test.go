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
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// keeper keeps an installation. Its Remove ends with an error at the Namespace, if there is one.
type keeper struct {
	session.Installation
	live []*unstructured.Unstructured
	err  error
	// Nodes that are there from the beginning, that come while others are drained, and that come while the agent ends.
	nodes, duringDrain, duringRemoval []install.Node
	released                          bool
	inhabitants                       []string // of the namespace
}

func (k *keeper) Holdings(context.Context) (install.Holdings, error) {
	return install.Holdings{Nodes: k.nodes}, nil
}

func (k *keeper) Drain(context.Context, []string, func(remaining []string)) error {
	k.nodes = k.duringDrain
	return nil
}

func (k *keeper) Release(context.Context) ([]install.Node, error) {
	k.released = true
	return k.nodes, nil
}

func (k *keeper) MayScaleBack(context.Context) error        { return nil }
func (k *keeper) RemoveLease(context.Context, string) error { return nil }

func (k *keeper) Read(_ context.Context, declared []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	return pick(declared, k.live), nil
}

func (k *keeper) Remove(_ context.Context, objects []*unstructured.Unstructured) ([]string, error) {
	for _, o := range slices.Backward(objects) {
		if k.err != nil && o.GetKind() == "Namespace" {
			return nil, k.err
		}
		if o.GetKind() == "Deployment" {
			k.nodes = append(k.nodes, k.duringRemoval...)
		}
		k.live = slices.DeleteFunc(k.live, func(l *unstructured.Unstructured) bool {
			return l.GetKind() == o.GetKind() && l.GetName() == o.GetName()
		})
	}
	return k.inhabitants, nil
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

// The agent buys nodes until it ends. Those that come before it is removed keep it, and of those that come later the
// destroy says that they are left.
func TestUninstallLeavesNoNodeWithoutAWord(t *testing.T) {
	node := []install.Node{{Name: "late", Provisioner: "b", Instance: "aws:///eu-west-1a/i-1"}}
	pooled := []install.Node{{Name: "late", Provisioner: "b", NodePool: true}}
	for name, tt := range map[string]struct {
		onDestroy string
		k         keeper
		fails     bool
		says      string
	}{
		"none":                               {drainNodes, keeper{}, false, ""},
		"one that comes during the drain":    {drainNodes, keeper{duringDrain: node}, true, "1 node appeared while others were drained"},
		"one of a NodePool":                  {drainNodes, keeper{duringDrain: pooled}, true, "1 node appeared while others were drained"},
		"one that comes as the agent ends":   {drainNodes, keeper{duringRemoval: node}, false, "1 node will continue to run without an agent"},
		"one of a NodePool as it ends":       {drainNodes, keeper{duringRemoval: pooled}, false, "1 node will continue to run without an agent"},
		"one that comes after the refusal":   {refuseNodes, keeper{duringRemoval: node}, false, "1 node will continue to run without an agent"},
		"those that were there are orphaned": {orphanNodes, keeper{nodes: node}, false, "1 node will continue to run without an agent"},
	} {
		t.Run(name, func(t *testing.T) {
			m, installed := installed(t)
			m.OnDestroy = types.StringValue(tt.onDestroy)
			k := tt.k
			k.live = slices.Clone(installed.live)
			var diags diag.Diagnostics
			if err := uninstall(t.Context(), m, slices.Clone(k.live), &k, &diags); err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, d := range diags {
				said += d.Summary() + "\n" + d.Detail()
			}
			if diags.HasError() != tt.fails || has(k.live, "Deployment") != tt.fails || !strings.Contains(said, tt.says) || len(diags) > 1 || (said == "") != (tt.says == "") {
				t.Errorf("it fails: %t, the agent is there: %t; it says:\n%s", diags.HasError(), has(k.live, "Deployment"), said)
			}
			if tt.says != "" && !strings.Contains(said, "node late; ") {
				t.Errorf("it does not name the node: %s", said)
			}
			if k.released == (tt.fails || tt.says == "") {
				t.Errorf("finalizers were removed: %t", k.released)
			}
		})
	}
}

// A namespace that others may use stays, and whoever removes the agent from it learns why.
func TestANamespaceIsKeptWithAWord(t *testing.T) {
	for name, end := range map[string]func(*model, *keeper, *diag.Diagnostics) error{
		"a destroy": func(m *model, k *keeper, diags *diag.Diagnostics) error {
			return uninstall(t.Context(), m, slices.Clone(k.live), k, diags)
		},
		"a move": func(m *model, k *keeper, diags *diag.Diagnostics) error {
			return removeReplaced(t.Context(), m, location{"another", "packhorse-agent"}, slices.Clone(k.live), k, diags)
		},
	} {
		m, k := installed(t)
		k.inhabitants = []string{"ingresses.networking.k8s.io/theirs"}
		var diags diag.Diagnostics
		err := end(m, k, &diags)
		if err != nil || len(diags) != 1 || diags[0].Summary() != "namespace packhorse is kept: others may use it" || !strings.Contains(diags[0].Detail(), k.inhabitants[0]) {
			t.Errorf("%s: %v, %v", name, diags, err)
		}
	}
}

// What is left of an installation decides whether a refresh forgets it.
func TestRefreshForgetsOnlyWhatIsGone(t *testing.T) {
	r := &agentResource{lifecycle.Base{Session: &session.Session{}}}
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

// Without a Deployment, an import takes over neither the namespace nor the NetworkPolicy of others: the next plan shows
// that they would be declared, and is checked.
func TestImportWithoutADeploymentOwnsOnlyWhatIsOurs(t *testing.T) {
	r := &agentResource{lifecycle.Base{Session: &session.Session{}}}
	for name, ours := range map[string]bool{"made for an agent": true, "made for something else": false} {
		t.Run(name, func(t *testing.T) {
			m, k := installed(t)
			_, k.live = split(k.live, "Deployment")
			if !ours {
				foreign, _ := split(k.live, "Namespace", "NetworkPolicy")
				for _, o := range foreign {
					o.SetLabels(nil)
				}
			}
			*m = model{Namespace: m.Namespace, Name: m.Name}
			var diags diag.Diagnostics
			gone, err := r.refresh(t.Context(), m, k, &diags)
			if err != nil || gone {
				t.Fatalf("refresh() = %t, %v", gone, err)
			}
			want := types.BoolValue(ours)
			if !m.CreateNamespace.Equal(want) || !m.NetworkPolicy.Equal(want) {
				t.Errorf("create_namespace = %s, network_policy = %s, want %t", m.CreateNamespace, m.NetworkPolicy, ours)
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
