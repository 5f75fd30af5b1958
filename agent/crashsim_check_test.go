package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// settle ends all trouble and waits until the world has come right.
func (s *simulation) settle() {
	s.mu.Lock()
	s.trouble, s.impediment, s.stall, s.leftOutUntil = trouble{}, impediment{}, stall{}, time.Time{}
	s.mu.Unlock()
	for _, r := range s.replicas {
		r.killAt(doom{})
	}
	for _, w := range s.scenario.workloads {
		s.SetUnready(w.Name, false)
	}
	s.NeverBoots(nil)
	s.BootsAs(nil)
	s.UnlimitedCapacity()
	s.TagAll()
	for _, w := range s.scenario.workloads {
		s.Scale(w.Name, w.final)
	}
	s.disturb()
	s.await("the world comes right", s.wrong)
}

// dismantle deletes everything and waits until nothing is left.
func (s *simulation) dismantle() {
	for _, w := range s.scenario.workloads {
		s.Scale(w.Name, 0)
	}
	s.disturb()
	for _, p := range s.scenario.provisioners {
		s.DeleteProvisioner(p.name)
	}
	s.await("nothing is left", s.left)
	s.checkHistory()
}

// await waits until nothing is wrong any more.
func (s *simulation) await(what string, wrong func() string) {
	if len(s.problems) > 0 {
		return
	}
	var last string
	for end := time.Now().Add(3 * time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
		if last = wrong(); last == "" {
			return
		}
	}
	s.failf("waited three hours until %s: %s", what, last)
}

// wrong names something that is not as it should be when nothing happens any more.
func (s *simulation) wrong() string {
	s.recreate()
	for _, p := range s.Pods() {
		if p.Labels["app"] != "" && !isRunning(p) && !s.hopeless(p) {
			return fmt.Sprintf("pod %s does not run", p.Name)
		}
	}
	if wrong := s.Misscaled(); len(wrong) > 0 {
		return wrong[0]
	}
	if left := s.traces(); left != "" {
		return left + " has a trace of surge"
	}
	machines := map[string]offer.Instance{}
	for _, m := range s.Machines() {
		machines[m.ProviderID] = m
	}
	for _, n := range s.ours() {
		if _, ok := machines[n.Spec.ProviderID]; !ok {
			return fmt.Sprintf("node %s has no machine", n.Name)
		}
		delete(machines, n.Spec.ProviderID)
		if n.DeletionTimestamp != nil || n.Labels[api.LabelInitialized] != "true" || !slices.Equal(n.Finalizers, []string{api.Finalizer}) {
			return fmt.Sprintf("node %s is not up: deletion %v, initialized %s, finalizers %v", n.Name, n.DeletionTimestamp, n.Labels[api.LabelInitialized], n.Finalizers)
		}
	}
	for _, m := range machines {
		return fmt.Sprintf("machine %s (%s) has no node", m.ID, m.NodeName)
	}
	return ""
}

// hopeless reports whether the limits leave no room for a machine that a pod needs.
func (s *simulation) hopeless(p *corev1.Pod) bool {
	if p.Spec.NodeName != "" {
		return false
	}
	for _, pr := range s.scenario.provisioners {
		if selected := p.Spec.NodeSelector[api.LabelProvisioner]; selected != "" && selected != pr.name {
			continue
		}
		if pr.limit == 0 || s.coresOf(pr.name)+4 <= pr.limit {
			return false
		}
	}
	return true
}

func (s *simulation) coresOf(provisioner string) int64 {
	var sum int64
	for _, n := range s.ours() {
		if n.Labels[api.LabelProvisioner] == provisioner {
			sum += n.Status.Capacity.Cpu().Value()
		}
	}
	return sum
}

// left names something that should be gone when all is deleted.
func (s *simulation) left() string {
	for _, n := range s.ours() {
		return "node " + n.Name
	}
	for _, m := range s.Machines() {
		return "machine " + m.ID
	}
	for _, p := range s.scenario.provisioners {
		if s.Provisioner(p.name) != nil {
			return "provisioner " + p.name
		}
	}
	for _, p := range s.Pods() {
		return "pod " + p.Name
	}
	if t := s.LaunchTemplates(); len(t) > 0 {
		return "launch templates " + strings.Join(t, ", ")
	}
	return ""
}

// checkHistory checks what must not have happened at any time.
func (s *simulation) checkHistory() {
	if calls := s.Usurped(); len(calls) > 0 {
		s.failf("a process without the lease acted: %v", calls)
	}
	if missed := s.Missed(); len(missed) > 0 {
		s.failf("surge or protections were not kept: %v", missed)
	}
	for _, p := range s.scenario.provisioners {
		if peak := s.Peak(p.name)[amount.CPU] / 1000; p.limit > 0 && peak > p.limit {
			s.failf("provisioner %s had %d cores, its limit is %d", p.name, peak, p.limit)
		}
	}
	if cut := s.CutOff(); len(cut) > 0 && !s.scenario.bounded() {
		s.failf("pods were ended without asking: %v", cut)
	}
	for _, m := range s.Unused() {
		if !s.leftToScheduler(m.Provisioner) && !s.excused(m.LaunchedAt.Add(-s.scenario.world.Skew)) {
			s.failf("machine %s (%s) was bought at %s and never used", m.ID, m.NodeName, m.LaunchedAt.Format(time.TimeOnly))
		}
	}
}

// leftToScheduler reports whether the agent binds no pods to nodes of the Provisioner, while
// there are others: kube-scheduler may then put all of a node's pods on nodes of another one,
// and leave the node unused.
func (s *simulation) leftToScheduler(provisioner string) bool {
	return len(s.scenario.provisioners) > 1 && slices.ContainsFunc(s.scenario.provisioners, func(p drawnProvisioner) bool {
		return p.name == provisioner && p.binding == api.BindScheduler
	})
}

// excused reports whether something happened while a machine was bought or
// started that may have made it needless.
func (s *simulation) excused(launched time.Time) bool {
	// What a machine was to serve that did not come up is planned again, and what
	// leaves a node that is replaced is the scheduler's to place.
	for _, e := range slices.Concat(s.Events(event.NeverRegistered), s.Events(event.Disrupting)) {
		s.disturbed = append(s.disturbed, e.At)
	}
	return slices.ContainsFunc(s.disturbed, func(t time.Time) bool {
		return t.After(launched.Add(-2*time.Minute)) && t.Before(launched.Add(2*s.scenario.world.BootTime+time.Minute))
	})
}
