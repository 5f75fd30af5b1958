// Package stages holds the configuration by which kwok plays the kubelets of the
// sandbox: nodes become Ready, pods run, jobs complete, and deleted pods go at the
// end of their grace period.
package stages

import (
	_ "embed"
	"strings"

	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodelease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

// options raises kwok's parallelism from its default of 4, with which a burst of
// a thousand pods starts visibly later than it is bound.
//
//go:embed options.yaml
var options string

// podDelete replaces kwok's own stage of that name, which deletes pods at once
// and so hides what a drain really waits for.
//
//go:embed pod-delete.yaml
var podDelete string

// Configuration returns the YAML documents for kwok's --config flag. kwok has no
// stages compiled into its command; its module exports them as text.
func Configuration() string {
	documents := []string{
		options,
		nodefast.DefaultNodeInit,
		nodelease.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady,
		podfast.DefaultPodComplete,
		podDelete,
	}
	for i, document := range documents {
		documents[i] = strings.TrimSpace(document) + "\n"
	}
	return strings.Join(documents, "---\n")
}
