package cluster

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Survey is a cluster as it was read at one moment, with our own objects in it.
// Nothing in it may be changed.
type Survey struct {
	Snapshot *Snapshot
	// Provisioners and NodeTemplates are as written, sorted by name, with what stands for
	// NodePools and EC2NodeClasses. They are empty where the cluster does not know the kinds.
	Provisioners  []*api.Provisioner
	NodeTemplates []*api.AWSNodeTemplate
	// PriorityClasses, RuntimeClasses and LimitRanges are what the API server looks up when pods are
	// made. HiddenClasses says which of them the reader may not list.
	PriorityClasses []*schedulingv1.PriorityClass
	RuntimeClasses  []*nodev1.RuntimeClass
	LimitRanges     []*corev1.LimitRange
	HiddenClasses   []string
	// Rejected are those that exist and cannot be read.
	Rejected []Reading
	// Hidden says which kinds the cluster has and the reader may not list, so that their
	// objects are missing here, each with the reason.
	Hidden []string
}
