package api

import "k8s.io/apimachinery/pkg/runtime/schema"

// The API groups, versions and kinds of the two resources.
const (
	ProvisionerGroup    = "karpenter.sh"
	ProvisionerVersion  = "v1alpha5"
	ProvisionerKind     = "Provisioner"
	NodeTemplateGroup   = AWSDomain
	NodeTemplateVersion = "v1alpha1"
	NodeTemplateKind    = "AWSNodeTemplate"
)

// CustomKind is a cluster-scoped kind of custom resource.
// +kubebuilder:object:generate=false
type CustomKind struct {
	Name     string // such as Provisioner
	Resource schema.GroupVersionResource
}

// The resources as the API server serves them. Both are cluster-scoped.
var (
	ProvisionerGVK  = ProvisionerGVR.GroupVersion().WithKind(ProvisionerKind)
	ProvisionerGVR  = schema.GroupVersionResource{Group: ProvisionerGroup, Version: ProvisionerVersion, Resource: "provisioners"}
	NodeTemplateGVK = NodeTemplateGVR.GroupVersion().WithKind(NodeTemplateKind)
	NodeTemplateGVR = schema.GroupVersionResource{Group: NodeTemplateGroup, Version: NodeTemplateVersion, Resource: "awsnodetemplates"}
)
