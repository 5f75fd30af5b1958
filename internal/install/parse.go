package install

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Parse finds the settings of an installation that somebody has made with Helm,
// with manifests or otherwise. It takes the objects that it has of those that
// Objects returns; nil ones are not there. What settings cannot express is left
// out, and Differences tells it.
func Parse(live []*unstructured.Unstructured) (Settings, error) {
	var s Settings
	s.OmitNamespace, s.OmitNetworkPolicy = true, true
	found := false
	for _, object := range live {
		if object == nil {
			continue
		}
		switch object.GetKind() {
		case "Namespace": // one that was made for something else stays out of it
			s.OmitNamespace = !Owns(object)
		case "NetworkPolicy": // as does one of others that has the name
			s.OmitNetworkPolicy = !Owns(object)
		case "Deployment":
			var d appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d); err != nil {
				return s, fmt.Errorf("read Deployment %s: %w", object.GetName(), err)
			}
			if len(d.Spec.Template.Spec.Containers) == 0 {
				return s, fmt.Errorf("read Deployment %s: it has no container", object.GetName())
			}
			s.parseDeployment(&d)
			found = true
		}
	}
	if !found {
		return s, errors.New("there is no Deployment of the agent")
	}
	return s, nil
}

// AnnotatedRole returns the ARN of the role that the ServiceAccount of an installation names, empty if it names none.
// Others may have written it, and it has no effect on pods that say themselves which role they assume.
func AnnotatedRole(live []*unstructured.Unstructured) string {
	for _, object := range live {
		if object != nil && object.GetKind() == "ServiceAccount" {
			return object.GetAnnotations()[RoleAnnotation]
		}
	}
	return ""
}

// Owns reports whether a live object was made for an installation.
func Owns(live *unstructured.Unstructured) bool {
	return live.GetLabels()["app.kubernetes.io/part-of"] == "packhorse"
}

// NodeOptions returns the options that size nodes, as the agent of a Deployment has them. Those that it would refuse
// are left out.
func NodeOptions(agent *appsv1.Deployment) (out offer.NodeOptions) {
	var s Settings
	if len(agent.Spec.Template.Spec.Containers) > 0 {
		s.parseDeployment(agent)
	}
	for name, value := range s.Options {
		if Nonsense(name, value) != "" {
			delete(s.Options, name)
		}
	}
	on := func(name string) bool {
		value, given := s.Options[name]
		enabled, err := strconv.ParseBool(value)
		return given && value == "" || err == nil && enabled
	}
	out.PrefixDelegation, out.PodENI, out.IgnoreENIs, out.EFA = on("prefix-delegation"), on("pod-eni"), on("ignore-enis"), on("efa")
	if reserved, err := strconv.ParseInt(s.Options["reserved-enis"], 10, 64); err == nil {
		out.ReservedENIs = reserved
	}
	if overhead, err := strconv.ParseFloat(s.Options["vm-memory-overhead-percent"], 64); err == nil {
		out.MemoryOverheadPercent = &overhead
	}
	return out
}

func (s *Settings) parseDeployment(d *appsv1.Deployment) {
	spec := &d.Spec.Template.Spec
	// An admission policy may have added others.
	agent := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == agentContainer })
	container := &spec.Containers[max(agent, 0)]
	s.Namespace, s.Name, s.Replicas = d.Namespace, d.Name, d.Spec.Replicas
	s.Image, s.PriorityClassName = container.Image, spec.PriorityClassName
	for _, secret := range spec.ImagePullSecrets {
		s.PullSecrets = append(s.PullSecrets, secret.Name)
	}
	for _, volume := range spec.Volumes {
		if volume.Name == authoritiesVolume && volume.ConfigMap != nil {
			s.CABundle = volume.ConfigMap.Name
		}
	}
	if cpu, ok := container.Resources.Requests[corev1.ResourceCPU]; ok {
		s.CPURequest = cpu.String()
	}
	if memory, ok := container.Resources.Requests[corev1.ResourceMemory]; ok {
		s.Memory = memory.String()
	}
	s.NodeSelector, s.Tolerations = maps.Clone(spec.NodeSelector), slices.Clone(spec.Tolerations)
	// The installation has a toleration of its own. A second one like it was declared.
	own := s.tolerations()[0]
	if at := slices.IndexFunc(s.Tolerations, func(t corev1.Toleration) bool { return t.Key == own.Key && t.Operator == own.Operator }); at >= 0 {
		s.Tolerations = slices.Delete(s.Tolerations, at, at+1)
	}
	s.parseEnvironment(container.Env)
	s.parseArgs(container.Args)
}

func (s *Settings) parseEnvironment(vars []corev1.EnvVar) {
	s.Environment, s.Endpoints = map[string]string{}, map[string]string{}
	for _, v := range vars {
		switch {
		case v.Name == "AWS_REGION":
			s.Region = v.Value
		case v.Name == "AWS_ROLE_ARN":
			s.RoleARN = v.Value
		case v.Name == authoritiesVariable && v.Value == authoritiesFolder+"/"+authoritiesKey: // that of the volume
		case endpointService(v.Name) != "" && v.ValueFrom == nil:
			s.Endpoints[endpointService(v.Name)] = v.Value
		case ownVariable(v.Name) == "" && v.ValueFrom == nil:
			s.Environment[v.Name] = v.Value
		}
	}
}

func (s *Settings) parseArgs(args []string) {
	s.Options = map[string]string{}
	for i, arg := range args {
		flag, is := strings.CutPrefix(arg, "--")
		if !is {
			continue // the command, or the value of the flag before
		}
		name, value, joined := strings.Cut(flag, "=")
		if !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			value = args[i+1]
		}
		switch _, known := options[name]; {
		case name == "cluster-name":
			s.ClusterName = value
		case name == "region":
			s.Region = value
		case name == "interruption-queue":
			s.Queue = value
		case name == "default-instance-profile":
			s.InstanceProfile = value
		case name == "log-format" && value == "json": // as it is without a word
		case known:
			s.Options[name] = value
		}
	}
}
