// Package install is the one source of the agent's installation in a cluster:
// settings in, Kubernetes objects out. `packhorse-agent manifests` prints them, the
// resource packhorse_agent applies them, and the Helm chart is generated from them.
package install

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// The names that an installation has unless its settings say otherwise.
const (
	DefaultNamespace = "packhorse"
	DefaultName      = "packhorse-agent"
	// LeaseName is the name of the leader election Lease, whatever the
	// installation is called, so that it is found in any namespace.
	LeaseName = "packhorse-agent"
	// Repository is where released images of the agent are.
	Repository = "ghcr.io/packhorse-io/packhorse-agent"
)

// The values of settings that are not given.
const (
	DefaultReplicas          = 2
	DefaultCPURequest        = "500m"
	DefaultMemory            = "512Mi"
	DefaultPriorityClassName = "system-cluster-critical"
)

// Settings say how the agent is installed. The zero value of everything but
// ClusterName has a default, see Defaulted.
type Settings struct {
	Namespace string
	// Name is that of the objects, except for the Lease.
	Name string
	// OmitNamespace leaves the Namespace to somebody else: it has to exist.
	OmitNamespace bool
	// OmitCRDs leaves the definitions of the custom resources to somebody else.
	OmitCRDs bool

	// ClusterName is the name of the EKS cluster; required.
	ClusterName string
	// Region is the AWS region; empty for what the environment of the pod says.
	Region string
	// RoleARN is the IAM role that the ServiceAccount assumes with a projected
	// token; empty with EKS Pod Identity.
	RoleARN string
	// Queue is the name of the interruption queue; empty without one.
	Queue string
	// InstanceProfile is for node profiles that do not set one.
	InstanceProfile string
	// Endpoints are URLs of AWS services, instead of the default ones, by the names of
	// EndpointServices. A variable of Environment for the same service takes precedence.
	Endpoints map[string]string
	// Options are further flags of `packhorse-agent run` by their names, see OptionNames.
	Options map[string]string

	// Image is the reference of the image, with tag or digest.
	Image       string
	PullSecrets []string
	Replicas    *int32
	// CPURequest and Memory are Kubernetes quantities; memory is request and limit.
	CPURequest, Memory string
	PriorityClassName  string
	NodeSelector       map[string]string
	// Tolerations are added to those for nodes of critical addons.
	Tolerations []corev1.Toleration
	// CABundle is the name of a ConfigMap with the authorities that the certificates of AWS, or of a proxy before it, have
	// to come from; empty for the public ones.
	CABundle string
	// Environment is added to the environment of the agent.
	Environment map[string]string
	// OmitNetworkPolicy leaves the pods' connections unrestricted.
	OmitNetworkPolicy bool
}

// DefaultImage is the image of a version of the agent.
func DefaultImage(version string) string { return Repository + ":" + version }

// Defaulted returns the settings with all defaults, for an agent of the version.
func (s Settings) Defaulted(version string) Settings {
	s.Namespace = cmp.Or(s.Namespace, DefaultNamespace)
	s.Name = cmp.Or(s.Name, DefaultName)
	s.Image = cmp.Or(s.Image, DefaultImage(version))
	s.CPURequest = cmp.Or(s.CPURequest, DefaultCPURequest)
	s.Memory = cmp.Or(s.Memory, DefaultMemory)
	s.PriorityClassName = cmp.Or(s.PriorityClassName, DefaultPriorityClassName)
	s.Replicas = cmp.Or(s.Replicas, ptr.To[int32](DefaultReplicas))
	s.Options = maps.Clone(s.Options)
	return s
}

// labels are on every object, and selector picks the pods.
func (s *Settings) labels() map[string]string {
	labels := s.selector()
	labels["app.kubernetes.io/component"] = "agent"
	labels["app.kubernetes.io/part-of"] = "packhorse"
	return labels
}

func (s *Settings) selector() map[string]string {
	return map[string]string{nameLabel: agentName, "app.kubernetes.io/instance": s.Name}
}

const (
	nameLabel = "app.kubernetes.io/name"
	agentName = "packhorse-agent"
	// Selector selects the objects of all installations.
	Selector = nameLabel + "=" + agentName
)
