package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// How long a chapter may take before the demo gives up on it.
const patience = 90 * time.Second

// run is what the chapters share.
type run struct {
	*story
	stage     *stage.Stage
	workspace *stage.Workspace
	host      *stage.Host
	agent     *stage.Agent // that leads
	bought    int
	paid      float64 // the highest price per hour
}

// play tells the story from nothing to nothing. Whatever happens, it leaves no
// process and no file behind, unless keep is set.
func play(ctx context.Context, s *story, keep bool, boot time.Duration) (err error) {
	s.show(s.paint(bold, "Packhorse") + ": the right nodes at the right time, declared in Terraform.\n" +
		"Everything below is real but the machines: Kubernetes, its scheduler, Terraform, and AWS's wire protocols on loopback.\n")
	s.chapter("A cluster and an AWS account, on this machine")
	dir, err := os.MkdirTemp("", "packhorse-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	sb, err := sandbox.Start(ctx, sandbox.Options{
		Dir: dir, BootDelay: boot,
		Progress: func(line string) { s.say("%s", line) },
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start the sandbox: %w", err), os.RemoveAll(dir))
	}
	r := &run{story: s}
	defer func() { err = errors.Join(err, r.stop(sb, dir)) }()
	if r.stage, err = stage.New(sb); err != nil {
		return err
	}
	if r.host, err = r.stage.StartHost(ctx, "system-1"); err != nil {
		return err
	}
	s.say("one node of a managed node group, for the agent itself")
	chapters := []func(context.Context) error{r.declare, r.meetAgent, r.workArrives}
	if keep {
		chapters = append(chapters, r.stay)
	} else {
		chapters = append(chapters, r.workShrinks, r.workLeaves, r.destroy, r.summary)
	}
	for _, chapter := range chapters {
		if err := chapter(ctx); err != nil {
			return fmt.Errorf("%w\n%s", err, r.logTail())
		}
	}
	return nil
}

func (r *run) stop(sb *sandbox.Sandbox, dir string) error {
	var hostErr error
	if r.host != nil {
		hostErr = r.host.Stop()
	}
	return errors.Join(hostErr, sb.Stop(), os.RemoveAll(dir))
}

// declare runs terraform init and apply on the quickstart.
func (r *run) declare(ctx context.Context) error {
	r.chapter("terraform apply: the agent and its IAM role, a node profile, two provisioners")
	w, err := r.stage.Workspace("quickstart", r.stage.Example("quickstart"))
	if err != nil {
		return err
	}
	r.workspace = w
	if err := w.Run(ctx, io.Discard, "init", "-no-color"); err != nil {
		return err
	}
	r.say("terraform init found the provider that was just built")
	return w.Run(ctx, newApplyReader(r.story), "apply", "-auto-approve", "-json", "-var", "seconds_after_empty=5") // nobody likes to wait for a demo
}

// meetAgent finds the agent that leads. Its pods were scheduled to the node of the
// managed node group, where they run as processes of this machine.
func (r *run) meetAgent(ctx context.Context) error {
	leader, err := r.workspace.Output(ctx, "agent_leader")
	if err != nil {
		return err
	}
	role, err := r.workspace.Output(ctx, "agent_role_arn")
	if err != nil {
		return err
	}
	agents := r.host.Agents()
	if r.agent = agents[leader]; r.agent == nil {
		return fmt.Errorf("the agent that leads, %q, does not run on %s", leader, r.host.Name)
	}
	r.say("%s leads, %s by; AWS credentials come from %s by AssumeRoleWithWebIdentity", leader, count(len(agents)-1, "other agent")+" stands", role)
	return nil
}

// workArrives creates the workload and watches until every pod runs.
func (r *run) workArrives(ctx context.Context) error {
	r.chapter("Work arrives: four deployments and a DaemonSet, and not one node for them")
	manifest, err := os.ReadFile(r.stage.Example("quickstart/workload.yaml"))
	if err != nil {
		return fmt.Errorf("read the workload: %w", err)
	}
	cancel := r.stage.Sandbox.Cloud.Subscribe(r.tellLaunches)
	defer cancel()
	if err := r.stage.Apply(ctx, manifest); err != nil {
		return err
	}
	started, reported := time.Now(), map[string]bool{}
	once := func(key string, now bool, format string, args ...any) {
		if now && !reported[key] {
			reported[key] = true
			r.say(format, args...)
		}
	}
	want := workloadPods
	seen, err := until(ctx, r.stage.Kube, patience, func(s sight) bool {
		all, unschedulable, bound, running := s.phases()
		once("unschedulable", all == want && unschedulable+bound == want, "kube-scheduler found no node for %s", count(want, "pod"))
		once("bound", bound == want, "%s", r.paint(green, fmt.Sprintf("all %d pods bound, %.1f s after they were created", want, time.Since(started).Seconds())))
		r.progress("%d pods: %d unschedulable, %d bound, %d running; %s", all, unschedulable, bound, running, count(len(s.nodes), "node"))
		return running == want
	})
	if err != nil {
		return err
	}
	r.say("%s", r.paint(green, fmt.Sprintf("all %d pods run on %s", want, count(len(seen.nodes), "node"))))
	r.show("\n" + seen.table(r.stage.Sandbox.Cloud.Instances()))
	ledger := r.stage.Sandbox.Cloud.Ledger()
	r.paid = float64(ledger.HourlyMicros) / 1e6
	r.show(fmt.Sprintf("  together $%.4f per hour\n", r.paid))
	return nil
}

// tellLaunches prints what is bought and what goes.
func (r *run) tellLaunches(e cloud.Event) {
	i := e.Instance
	switch e.Kind {
	case cloud.Launched:
		r.bought++
		r.say("%s %s (%s) in %s at $%.4f per hour", r.paint(blue, "bought"), i.Type, i.CapacityType, i.Zone, float64(i.PriceMicros)/1e6)
	case cloud.Stopping:
		r.say("%s %s in %s", r.paint(amber, "terminated"), i.Type, i.Zone)
	}
}

// shrunk is what is left of each deployment when the batch has ended and fewer visitors come.
var shrunk = map[string]int32{"web": 3, "api": 20, "batch": 0, "cache": 3}

// settled is after how long without a change of the price the cluster counts as repacked.
const settled = 12 * time.Second

// workShrinks lets a part of the pods go and watches the nodes being repacked.
func (r *run) workShrinks(ctx context.Context) error {
	r.chapter("Work shrinks: the batch is done, web needs a quarter, and the rest is packed together")
	cancel := r.stage.Sandbox.Cloud.Subscribe(r.tellLaunches)
	defer cancel()
	want := 0
	for name, replicas := range shrunk {
		want += int(replicas)
		if err := r.stage.Scale(ctx, name, replicas); err != nil {
			return err
		}
	}
	var now status.Status
	price, changed := r.paid, time.Time{}
	seen, err := until(ctx, r.stage.Kube, patience, func(s sight) bool {
		all, _, _, running := s.phases()
		if is := float64(r.stage.Sandbox.Cloud.Ledger().HourlyMicros) / 1e6; is != price {
			price, changed = is, time.Now()
		}
		r.progress("%s, %d running, on %s; $%.4f per hour", count(all, "pod"), running, count(len(s.nodes), "node"), price)
		if all != want || running != want || changed.IsZero() {
			return false
		}
		var err error
		if now, err = r.agentStatus(ctx); err != nil || now.Bound == nil || now.Bound.Pods != want {
			return false
		}
		return now.HourlyPrice <= nearBound*now.Bound.HourlyPrice || time.Since(changed) > settled
	})
	if err != nil {
		return err
	}
	r.say("%s", r.paint(green, fmt.Sprintf("%d pods run on %s for $%.4f per hour instead of $%.4f", want, count(len(seen.nodes), "node"), price, r.paid)))
	r.say("%s", now.Summary().Distance)
	return nil
}

// nearBound is how near to its lower bound the price of the cluster is called good: whole
// machines for a dozen pods cost more than the bound by themselves.
const nearBound = 1.05

// agentStatus asks the agent that leads.
func (r *run) agentStatus(ctx context.Context) (status.Status, error) {
	var now status.Status
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.agent.Status+"/status.json", nil)
	if err != nil {
		return now, fmt.Errorf("ask the agent: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return now, fmt.Errorf("ask the agent: %w", err)
	}
	err = json.NewDecoder(resp.Body).Decode(&now)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return now, fmt.Errorf("read the agent's answer: %w", err)
	}
	return now, nil
}

// workLeaves scales everything to zero and watches the nodes go.
func (r *run) workLeaves(ctx context.Context) error {
	r.chapter("Work leaves: everything is scaled to zero, and empty nodes go")
	cancel := r.stage.Sandbox.Cloud.Subscribe(r.tellLaunches)
	defer cancel()
	if err := r.stage.ScaleAll(ctx, 0); err != nil {
		return err
	}
	started := time.Now()
	if _, err := until(ctx, r.stage.Kube, patience, func(s sight) bool {
		all, _, _, running := s.phases()
		r.progress("%s, %d running; %s left", count(all, "pod"), running, count(len(s.nodes), "node"))
		return len(s.nodes) == 0 && len(r.stage.Live()) == 0
	}); err != nil {
		return err
	}
	r.say("%s", r.paint(green, fmt.Sprintf("no node and no instance is left, %.1f s after the last pod was deleted", time.Since(started).Seconds())))
	return nil
}

func (r *run) destroy(ctx context.Context) error {
	r.chapter("terraform destroy")
	if err := r.workspace.Run(ctx, newApplyReader(r.story), "destroy", "-auto-approve", "-json"); err != nil {
		return err
	}
	left, err := r.stage.Leftovers(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("terraform destroy left something behind: %v", left)
	}
	r.say("%s", r.paint(green, "nothing is left: no agent, no node, no instance, no launch template, no provisioner, no role"))
	return nil
}

func (r *run) summary(context.Context) error {
	ledger := r.stage.Sandbox.Cloud.Ledger()
	r.show("\n" + r.paint(bold, "In short") + "\n" +
		fmt.Sprintf("  %d pods, %s bought for $%.4f per hour, all removed again; $%.6f spent in %.0f s.\n",
			workloadPods, count(r.bought, "machine"), r.paid, float64(ledger.CostMicros)/1e6, time.Since(r.started).Seconds()) +
		"  Next: `make demo KEEP=1` to look around, README.md for what it can do.\n")
	return nil
}

// stay keeps everything running until the user has seen enough.
func (r *run) stay(ctx context.Context) error {
	r.chapter("It is all yours until Ctrl-C")
	var exports strings.Builder
	for _, variable := range r.stage.Sandbox.Env() {
		exports.WriteString("  export " + variable + "\n")
	}
	r.show("In another terminal, in this folder:\n\n" + exports.String() + fmt.Sprintf(`
  bin/sandbox kubectl get nodes -L node.kubernetes.io/instance-type -L topology.kubernetes.io/zone
  bin/sandbox kubectl scale deployment web --replicas=30      # and watch nodes come
  bin/sandbox kubectl describe provisioner default
  bin/sandbox kubectl get events -A --field-selector reason=Launched
  terraform -chdir=%s plan                   # edit main.tf there first

  agent's log:      %s
  agent's metrics:  %s
  AWS control port: %s   (faults, capacity, calls, ledger)

`, r.workspace.Dir, r.agent.LogFile, r.agent.Metrics, r.stage.Sandbox.ControlEndpoint))
	<-ctx.Done()
	r.say("stopping; everything is removed")
	return nil
}

// logTail returns the last lines of the agent's log, for a failure's message.
func (r *run) logTail() string {
	if r.agent == nil {
		return ""
	}
	text, err := os.ReadFile(r.agent.LogFile)
	if err != nil {
		return fmt.Sprintf("(the log %s cannot be read: %v)", filepath.Base(r.agent.LogFile), err)
	}
	const most = 3000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return "the end of the agent's log:\n" + string(text)
}
