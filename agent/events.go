package agent

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// The reasons of events. Users filter by them: they are part of the interface.
const (
	eventUnplaceable     = "Unplaceable"     // pod and its owner: no node can be bought for it
	eventNominated       = "Nominated"       // pod: the node it will run on
	eventLaunched        = "Launched"        // node: what was bought, and at what price
	eventAdopted         = "Adopted"         // node: its object was made from the instance
	eventInitialized     = "Initialized"     // node: it is up
	eventNeverRegistered = "NeverRegistered" // node: its machine did not come up
	eventDisrupting      = "Disrupting"      // node: it will be taken away, and why
	eventKept            = "Kept"            // node: it is not taken away, and why
	eventDraining        = "Draining"        // node: its pods are being evicted
	eventEvictionBlocked = "EvictionBlocked" // node and pod: a disruption budget forbids an eviction
	eventDrainHeldUp     = "DrainHeldUp"     // node and pod: what else a drain waits for, longer than it should
	eventTerminated      = "Terminated"      // node: its machine was given back
	eventInterrupted     = "Interrupted"     // node: its machine will be taken back
	eventInstanceGone    = "InstanceGone"    // node: its machine does not exist any more
	eventTagsLost        = "TagsLost"        // node: its instance has lost the tags of the cluster
	eventMarksLost       = "MarksLost"       // node: it had lost what tells its Provisioner
	eventLaunchFailed    = "LaunchFailed"    // Provisioner: a cloud refused
	eventWarnings        = "DoubtfulSpec"    // Provisioner and node profile: what has no effect or is probably not meant
)

// nodeRef carries the name as UID, as the kubelet's own events do.
func nodeRef(name string) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: "Node", Name: name, UID: name}
}

func podRef(k cluster.PodKey) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: "Pod", Namespace: k.Namespace, Name: k.Name, UID: k.UID}
}

func provisionerRef(p *api.Provisioner) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: api.ProvisionerKind, Name: p.Name, UID: string(p.UID)}
}

// tell sends an event about a waiting pod, unless it was the last one about it and
// the API server still has it.
func (a *Agent) tell(pod cluster.PodKey, reason, message string) {
	last := a.history.told[pod.UID]
	if last.text == reason+message && time.Since(last.at) < tellAgain {
		return
	}
	a.history.told[pod.UID] = said{reason + message, time.Now()}
	eventType := corev1.EventTypeNormal
	if reason == eventUnplaceable {
		eventType = corev1.EventTypeWarning
	}
	a.event(podRef(pod), eventType, reason, message)
}

// explainKept tells the nodes that have a reason to go why they stay, once for
// each reason.
func (a *Agent) explainKept(plan *decide.Plan) {
	kept := make(map[string]string, len(plan.Kept))
	for _, k := range plan.Kept {
		text := fmt.Sprintf("%s, but stays: %s", k.Reason, k.Why)
		if a.history.kept[k.Node] != text {
			a.event(nodeRef(k.Node), corev1.EventTypeNormal, eventKept, text)
		}
		kept[k.Node] = text
	}
	a.history.kept = kept
}

// waiting returns the pods without a place that do not run anywhere.
func waiting(plan *decide.Plan) []decide.Unplaced {
	return slices.DeleteFunc(slices.Clone(plan.Unplaced), func(u decide.Unplaced) bool { return u.From != "" })
}
