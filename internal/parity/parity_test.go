package parity_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
)

func TestSimulationIsWhatTheAgentDecides(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			s := newStage(t)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s.apply(text)
			pods := s.awaitUnschedulable()
			decided := s.agentsPlan(pods)
			simulated := s.simulation()
			if diff := cmp.Diff(decided, simulated); diff != "" {
				t.Errorf("plans (-agent +provider):\n%s", diff)
			}
		})
	}
}

// agentsPlan runs an agent until it has decided on all pods, and keeps it from
// carrying anything out.
func (s *stage) agentsPlan(pods int) string {
	s.t.Helper()
	cluster, err := kube.New(s.box.RESTConfig(), kube.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	cfg, err := aws.LoadConfig(s.t.Context(), s.box.Region)
	if err != nil {
		s.t.Fatal(err)
	}
	cloud, err := aws.New(s.t.Context(), cfg, aws.Options{ClusterName: s.box.ClusterName, DefaultInstanceProfile: "packhorse-node"})
	if err != nil {
		s.t.Fatal(err)
	}
	cloud.ReadPrices(s.t.Context())
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	decided := make(chan decide.Plan, 1)
	watch := func(in decide.Input) decide.Plan {
		in.Prove = true // as the simulation does, which shows the bound
		if plan := decide.Decide(in); spokenFor(&plan) == pods {
			select {
			case decided <- plan:
			default:
			}
		}
		return decide.Plan{}
	}
	if err := cluster.Start(ctx); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	a := agent.New(cluster, cloud, agent.Options{BatchIdle: 10 * time.Millisecond, Decide: watch}, hclog.NewNullLogger())
	go func() { ended <- a.Run(ctx) }()
	var plan decide.Plan
	select {
	case plan = <-decided:
	case <-ctx.Done():
		s.t.Fatalf("the agent has not decided on %d pods; waiting for %v", pods, cluster.Waiting())
	}
	cancel()
	if err := <-ended; err != nil {
		s.t.Fatal(err)
	}
	asJSON, err := json.Marshal(plan)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(asJSON)
}

// spokenFor counts the pods that a plan decides on.
func spokenFor(plan *decide.Plan) int {
	n := len(plan.Unplaced) + len(plan.Bindings)
	for i := range plan.Machines {
		n += len(plan.Machines[i].Pods)
	}
	return n
}
