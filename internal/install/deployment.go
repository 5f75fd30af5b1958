package install

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// The ports of the agent.
const (
	metricsPort, healthPort       = "metrics", "health"
	metricsPortNumber       int32 = 8080
	healthPortNumber        int32 = 8081
	statusPort                    = "status"
)

// StatusPort is served on localhost of the agent's pod, for those who may forward
// ports.
const StatusPort = 8082

// agentContainer is the name of the agent's container.
const agentContainer = "agent"

// nobody is the user of distroless images that are not run as root.
const nobody = 65532

// The projected token for AWS has the volume name, path and audience that EKS's
// own webhook would give it, which then leaves the pod alone
// (https://github.com/aws/amazon-eks-pod-identity-webhook).
const (
	tokenVolume   = "aws-iam-token"
	tokenFolder   = "/var/run/secrets/eks.amazonaws.com/serviceaccount"
	tokenAudience = "sts.amazonaws.com"
	tokenSeconds  = 86400
)

// The ConfigMap with authorities has the key under which cert-manager and trust-manager write them.
const (
	authoritiesVolume   = "packhorse-ca-bundle"
	authoritiesFolder   = "/etc/packhorse/ca"
	authoritiesKey      = "ca.crt"
	authoritiesVariable = "AWS_CA_BUNDLE"
)

// Deployment is the agent itself: one replica leads, the others stand by.
func (s *Settings) Deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: s.meta(),
		Spec: appsv1.DeploymentSpec{
			Replicas: s.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: s.selector()},
			// A new replica is up before an old one goes.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(1)),
			}},
			RevisionHistoryLimit: ptr.To[int32](5),
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: s.labels()}, Spec: s.podSpec()},
		},
	}
}

func (s *Settings) podSpec() corev1.PodSpec {
	spec := corev1.PodSpec{
		ServiceAccountName: s.Name,
		PriorityClassName:  s.PriorityClassName,
		// The cluster's DNS may be waiting for a node itself. The agent finds AWS by the
		// node's resolver, and the API server by its address.
		DNSPolicy: corev1.DNSDefault,
		// A leader finishes what it is doing, and gives the lease back.
		TerminationGracePeriodSeconds: ptr.To[int64](30),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](nobody), RunAsGroup: ptr.To[int64](nobody), FSGroup: ptr.To[int64](nobody),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		NodeSelector:              s.nodeSelector(),
		Affinity:                  notOnOwnNodes(),
		Tolerations:               s.tolerations(),
		TopologySpreadConstraints: s.spread(),
		Containers:                []corev1.Container{s.container()},
	}
	for _, name := range s.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if s.RoleARN != "" {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: tokenAudience, ExpirationSeconds: ptr.To[int64](tokenSeconds), Path: "token",
			}}},
		}}})
	}
	if s.CABundle != "" {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: authoritiesVolume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.CABundle}, Items: []corev1.KeyToPath{{Key: authoritiesKey, Path: authoritiesKey}},
		}}})
	}
	return spec
}

func (s *Settings) container() corev1.Container {
	container := corev1.Container{
		Name:            agentContainer,
		Image:           s.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Args:            s.args(),
		Env:             s.environment(),
		Ports: []corev1.ContainerPort{
			{Name: metricsPort, ContainerPort: metricsPortNumber, Protocol: corev1.ProtocolTCP},
			{Name: healthPort, ContainerPort: healthPortNumber, Protocol: corev1.ProtocolTCP},
			{Name: statusPort, ContainerPort: StatusPort, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  probe("/healthz", 30, 3),
		ReadinessProbe: probe("/readyz", 5, 3),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(s.CPURequest), corev1.ResourceMemory: resource.MustParse(s.Memory)},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(s.Memory)},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if s.RoleARN != "" {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: tokenVolume, MountPath: tokenFolder, ReadOnly: true})
	}
	if s.CABundle != "" {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: authoritiesVolume, MountPath: authoritiesFolder, ReadOnly: true})
	}
	return container
}

func probe(path string, every, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(healthPort)}},
		PeriodSeconds: every, FailureThreshold: failures, TimeoutSeconds: 5,
	}
}

// args are the command line, in a fixed order.
func (s *Settings) args() []string {
	args := []string{"run", "--cluster-name=" + s.ClusterName, "--namespace=" + s.Namespace, "--lease-name=" + LeaseName}
	for _, flag := range []struct{ name, value string }{{"interruption-queue", s.Queue}, {"default-instance-profile", s.InstanceProfile}} {
		if flag.value != "" {
			args = append(args, "--"+flag.name+"="+flag.value)
		}
	}
	options := map[string]string{"log-format": "json"}
	maps.Copy(options, s.Options)
	for _, name := range slices.Sorted(maps.Keys(options)) {
		args = append(args, "--"+name+"="+options[name])
	}
	return args
}

func (s *Settings) environment() []corev1.EnvVar {
	podName := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}
	vars := []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: podName}}
	if s.Region != "" {
		vars = append(vars, corev1.EnvVar{Name: "AWS_REGION", Value: s.Region})
	}
	if s.RoleARN != "" {
		vars = append(vars, corev1.EnvVar{Name: "AWS_ROLE_ARN", Value: s.RoleARN}, corev1.EnvVar{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: tokenFolder + "/token"},
			corev1.EnvVar{Name: "AWS_ROLE_SESSION_NAME", ValueFrom: podName}) // CloudTrail names it
	}
	if _, replaced := s.Environment[authoritiesVariable]; s.CABundle != "" && !replaced {
		vars = append(vars, corev1.EnvVar{Name: authoritiesVariable, Value: authoritiesFolder + "/" + authoritiesKey})
	}
	vars = append(vars, s.endpointVariables()...)
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		vars = append(vars, corev1.EnvVar{Name: name, Value: s.Environment[name]})
	}
	return vars
}

func (s *Settings) nodeSelector() map[string]string {
	selector := map[string]string{corev1.LabelOSStable: "linux"}
	maps.Copy(selector, s.NodeSelector)
	return selector
}

// notOnOwnNodes keeps the agent off the nodes that it buys, which it may take away.
func notOnOwnNodes() *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: api.LabelProvisioner, Operator: corev1.NodeSelectorOpDoesNotExist},
		}}},
	}}}
}

func (s *Settings) tolerations() []corev1.Toleration {
	return append([]corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}}, s.Tolerations...)
}

// spread is a preference, so that the agent runs where there is but one node.
func (s *Settings) spread() []corev1.TopologySpreadConstraint {
	var out []corev1.TopologySpreadConstraint
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		out = append(out, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: s.selector()},
		})
	}
	return out
}
