package agent

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/notice"
)

// The steps in this file let one kind of call fail or take long, and let people treat nodes as they do.

// impediment is what calls of one kind meet: they take time, and fail or not.
type impediment struct {
	call  string
	until time.Time
	takes time.Duration
	fails bool
}

// cloudCalls are those that reach the cloud.
var cloudCalls = []string{"Market", "Launch", "Claim", "Instances", "Find", "Retag", "Terminate", "Sweep", "Forget", "Receive", "Acknowledge"}

// impeded are the calls that steps impede, each of which its own permission allows.
var impeded = []string{
	"Launch", "CreateNode", "Bind", "PatchNode", "DeleteNode", "Evict", "DeletePod", "PodsOn", "NodeReady", "Steer", "Deployment", "ScaleDeployment", "Wanted",
	"Market", "Instances", "Find", "Claim", "Retag", "Terminate", "Sweep", "Forget", "Receive", "Acknowledge",
	"SetProvisionerFinalizer", "UpdateProvisionerStatus", "UpdateNodeTemplateStatus",
}

// A method that Cloud or Notices gets is disturbed like the others.
func TestCallsOfTheCloudAreDisturbed(t *testing.T) {
	local := []string{"Learn", "Learnt"} // they reach nothing
	for _, port := range []reflect.Type{reflect.TypeFor[Cloud](), reflect.TypeFor[notice.Notices]()} {
		for method := range port.Methods() {
			if call := method.Name; !slices.Contains(local, call) && (!slices.Contains(cloudCalls, call) || !slices.Contains(impeded, call)) {
				t.Errorf("%s is not in `cloudCalls` and `impeded`; if it changes nothing, it also belongs to `reads` of internal/sim/client.go", call)
			}
		}
	}
}

// refusedStep lets all calls of a kind fail, as when the permission for them is missing.
func refusedStep(d drawer, _ *scenario) step {
	call, lasts := impeded[d.IntN(len(impeded))], d.duration(time.Second, 10*time.Minute)
	return step{name: fmt.Sprintf("all calls of %s fail for %s", call, lasts), do: func(s *simulation) {
		s.impede(impediment{call: call, until: time.Now().Add(lasts), fails: true})
	}}
}

// slowStep lets all calls of a kind take long and succeed.
func slowStep(d drawer, _ *scenario) step {
	call, takes, lasts := impeded[d.IntN(len(impeded))], d.duration(time.Second, 40*time.Second), d.duration(time.Second, 5*time.Minute)
	return step{name: fmt.Sprintf("each call of %s takes %s for %s", call, takes, lasts), do: func(s *simulation) {
		s.impede(impediment{call: call, until: time.Now().Add(lasts), takes: takes})
	}}
}

func (s *simulation) impede(i impediment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.impediment = i
}

// cordonStep lets somebody cordon a node for a while.
func cordonStep(d drawer, _ *scenario) step {
	n, lasts := d.IntN(100), d.duration(time.Second, 10*time.Minute)
	return step{name: fmt.Sprintf("a node is cordoned for %s", lasts), do: func(s *simulation) {
		nodes := s.ours()
		if len(nodes) == 0 {
			return
		}
		name := nodes[n%len(nodes)].Name
		cordon := func(on bool) func() {
			return func() { s.EditNode(name, func(n *corev1.Node) { n.Spec.Unschedulable = on }) }
		}
		cordon(true)()
		time.AfterFunc(lasts, cordon(false))
	}}
}

// openStep lets somebody take the taint of a removal off all nodes.
func openStep(drawer, *scenario) step {
	return step{name: "somebody opens all nodes", do: func(s *simulation) {
		for _, n := range s.ours() {
			s.Untaint(n.Name, drain.Taint.Key)
			s.EditNode(n.Name, func(n *corev1.Node) { n.Spec.Unschedulable = false })
		}
	}}
}
