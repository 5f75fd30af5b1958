package provider_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agentVictim is an installation of the agent, whose namespace has its name. No node
// takes its pods, so that what is told of it is what its objects tell.
func agentVictim() victim {
	return victim{
		typeName: "packhorse_agent", first: "", second: "replicas = 1",
		exists: func(ctx context.Context, name string) bool {
			_, account := kube.CoreV1().ServiceAccounts(name).Get(ctx, name, metav1.GetOptions{})
			_, role := kube.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
			_, deployment := kube.AppsV1().Deployments(name).Get(ctx, name, metav1.GetOptions{})
			return account == nil || role == nil || deployment == nil
		},
	}
}

// TestFaultsOfTheAgent strikes the calls for the objects of an installation, as
// TestFaults does for other resources. What is there is in the state after each
// command, a rollout that has not come to an end is said to be so, the next command
// goes on from there, and nothing that others have declared goes.
func TestFaultsOfTheAgent(t *testing.T) {
	seed := setting(t, "SEED", 1)
	for i := range max(1, setting(t, "FAULTS", 0)/len(victims())) {
		name := fmt.Sprintf("struck-agent-%d-%d", seed, i)
		t.Run(name, func(t *testing.T) {
			untouched := ofOthers(t, name)
			draw := rand.New(rand.NewPCG(uint64(seed), uint64(1000+i))) //nolint:gosec // to be repeatable
			(&life{victim: agentVictim(), name: name, draw: draw}).leadAgent(t)
			untouched()
		})
	}
}

func (l *life) leadAgent(t *testing.T) {
	l.begin(t)
	t.Cleanup(func() {
		if err := kube.CoreV1().Namespaces().Delete(context.Background(), l.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Logf("delete the namespace: %v", err)
		}
	})
	l.declareAgent(t, l.first)
	l.terminal.run(t, "init")
	l.stepAgent(t, "create")
	l.terminal.run(t, "untaint", "packhorse_agent.test")
	l.declareAgent(t, l.second)
	l.stepAgent(t, "change")
	live, err := kube.AppsV1().Deployments(l.name).Get(t.Context(), l.name, metav1.GetOptions{})
	if err != nil || *live.Spec.Replicas != 1 {
		t.Errorf("the change has not arrived: %v", err)
	}
	if title, out, err := l.strike(t, "plan", "plan"); err == nil && !strings.Contains(out, "No changes") {
		t.Errorf("%s: it sees a change:\n%s", title, out)
	}
	wantNoChange(t, "the plan without a fault", l.terminal.plan(t))
	title, out, err := l.strike(t, "destroy", "destroy", "-auto-approve")
	if exists := l.exists(t.Context(), l.name); exists && (err == nil || !l.recorded(t)) {
		t.Errorf("%s: something is left that the state does not know: %v\n%s", title, err, out)
	}
	l.terminal.run(t, "destroy", "-auto-approve")
	if l.exists(t.Context(), l.name) {
		t.Error("the destroy without a fault has left something")
	}
}

func (l *life) declareAgent(t *testing.T, arguments string) {
	t.Helper()
	l.terminal.write(t, map[string]string{"main.tf": l.head + fmt.Sprintf(
		"resource \"packhorse_agent\" \"test\" {\n namespace = %q\n name = %[1]q\n cluster_name = \"struck\"\n region = \"eu-west-1\"\n %s\n timeouts {\n create = \"10s\"\n update = \"10s\"\n delete = \"30s\"\n }\n}\n",
		l.name, arguments)})
}

func (l *life) recorded(t *testing.T) bool {
	t.Helper()
	out, err := l.terminal.try(t, "state", "list")
	if err != nil && !strings.Contains(out, "No state file was found") {
		t.Fatalf("list the state: %v\n%s", err, out)
	}
	return strings.Contains(out, l.typeName)
}

// stepAgent applies while a fault strikes, and then without one. Neither succeeds.
func (l *life) stepAgent(t *testing.T, what string) {
	t.Helper()
	title, out, err := l.strike(t, what, "apply", "-auto-approve")
	exists, recorded := l.exists(t.Context(), l.name), l.recorded(t)
	t.Logf("%s: error %v, exists %t, recorded %t", title, err, exists, recorded)
	if err == nil {
		t.Errorf("%s: it counts as success without a node:\n%s", title, out)
	}
	if exists && !recorded {
		t.Errorf("%s: something is there that the state does not know:\n%s", title, out)
	}
	out, err = l.terminal.try(t, "apply", "-auto-approve")
	if err == nil && what == "create" || !l.recorded(t) {
		t.Errorf("%s: the apply after it: error %v:\n%s", title, err, out)
	}
	if err != nil {
		says(t, out, "it did not become ready in time")
	}
}
