package manifest

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// The API server refuses objects by hundreds of rules. Checked are those on fields that decide
// which pods there are and where they go: a plan for pods that can never be created misleads.

// brokenRules lists what the API server would refuse of a pod or workload.
func brokenRules(object any) finding.List {
	spec := field.NewPath("spec")
	template := spec.Child("template")
	switch o := object.(type) {
	case *corev1.Pod:
		return append(labelRules(o.Labels, field.NewPath("metadata", "labels")), podRules(&o.Spec, spec)...)
	case *appsv1.DaemonSet:
		return templateRules(&o.Spec.Template, o.Spec.Selector, template)
	case *appsv1.Deployment:
		return append(countRule(o.Spec.Replicas, spec.Child("replicas")), templateRules(&o.Spec.Template, o.Spec.Selector, template)...)
	case *appsv1.ReplicaSet:
		return append(countRule(o.Spec.Replicas, spec.Child("replicas")), templateRules(&o.Spec.Template, o.Spec.Selector, template)...)
	case *appsv1.StatefulSet:
		return append(countRule(o.Spec.Replicas, spec.Child("replicas")), templateRules(&o.Spec.Template, o.Spec.Selector, template)...)
	case *corev1.ReplicationController:
		return append(countRule(o.Spec.Replicas, spec.Child("replicas")), templateRules(cmp.Or(o.Spec.Template, &corev1.PodTemplateSpec{}), nil, template)...)
	case *batchv1.Job:
		status := field.NewPath("status")
		return slices.Concat(
			jobRules(&o.Spec, spec),
			indexesRule(o.Status.CompletedIndexes, status.Child("completedIndexes")),
			indexesRule(ptr.Deref(o.Status.FailedIndexes, ""), status.Child("failedIndexes")),
		)
	case *batchv1.CronJob:
		return jobRules(&o.Spec.JobTemplate.Spec, spec.Child("jobTemplate", "spec"))
	}
	return nil
}

// doubts are about what breaks no rule, but is probably not what the author meant.
func doubts(object any) finding.List {
	node, ok := object.(*corev1.Node)
	if !ok {
		return nil
	}
	room, at := node.Status.Allocatable, field.NewPath("status", "allocatable")
	if room == nil {
		room, at = node.Status.Capacity, field.NewPath("status", "capacity")
	}
	if room.Pods().IsZero() {
		return finding.List{finding.Doubtful(at, finding.Say("allows no pods, so none fits on the node"), finding.Say("give their number, such as pods: 110"))}
	}
	return nil
}

func jobRules(j *batchv1.JobSpec, path *field.Path) finding.List {
	return slices.Concat(
		countRule(j.Parallelism, path.Child("parallelism")),
		countRule(j.Completions, path.Child("completions")),
		templateRules(&j.Template, nil, path.Child("template")),
	)
}

func indexesRule(text string, path *field.Path) finding.List {
	if _, ok := parseIndexes(text); ok {
		return nil
	}
	return finding.List{finding.Invalid(path, text, finding.Say("must be a list of indexes and ranges of them"), finding.Say("write it like 1,3-5,7"))}
}

func countRule(n *int32, path *field.Path) finding.List {
	if n == nil || *n >= 0 {
		return nil
	}
	return finding.List{finding.Invalid(path, *n, finding.Say("must be greater than or equal to 0"), finding.None)}
}

// templateRules returns the rules that a pod template breaks. A selector must match the labels
// of the template; it is nil where nobody writes one.
func templateRules(t *corev1.PodTemplateSpec, selector *metav1.LabelSelector, path *field.Path) finding.List {
	if reflect.DeepEqual(t, &corev1.PodTemplateSpec{}) {
		return finding.List{finding.Required(path, finding.None, finding.Say("describe the pods that it creates"))}
	}
	at := path.Child("metadata", "labels")
	out := append(labelRules(t.Labels, at), podRules(&t.Spec, path.Child("spec"))...)
	if s, err := metav1.LabelSelectorAsSelector(selector); err == nil && selector != nil && !s.Matches(labels.Set(t.Labels)) {
		out = append(out, finding.Invalid(at, labels.FormatLabels(t.Labels), finding.Say("must match the selector %s", s), finding.None))
	}
	return out
}

func podRules(spec *corev1.PodSpec, path *field.Path) finding.List {
	var out finding.List
	for i := range spec.InitContainers {
		out = append(out, containerRules(&spec.InitContainers[i], path.Child("initContainers").Index(i))...)
	}
	for i := range spec.Containers {
		out = append(out, containerRules(&spec.Containers[i], path.Child("containers").Index(i))...)
	}
	if spec.Resources != nil {
		out = append(out, resourceRules(spec.Resources, path.Child("resources"))...)
	}
	out = append(out, labelRules(spec.NodeSelector, path.Child("nodeSelector"))...)
	if spec.OS != nil {
		out = append(out, oneOf(path.Child("os", "name"), spec.OS.Name, corev1.Linux, corev1.Windows)...)
	}
	for i := range spec.Tolerations {
		out = append(out, tolerationRules(&spec.Tolerations[i], path.Child("tolerations").Index(i))...)
	}
	for i := range spec.TopologySpreadConstraints {
		out = append(out, spreadRules(&spec.TopologySpreadConstraints[i], path.Child("topologySpreadConstraints").Index(i))...)
	}
	return append(out, affinityRules(spec.Affinity, path.Child("affinity"))...)
}

func containerRules(c *corev1.Container, path *field.Path) finding.List {
	out := resourceRules(&c.Resources, path.Child("resources"))
	for i := range c.Ports {
		at := path.Child("ports").Index(i)
		out = slices.Concat(out, portRule(c.Ports[i].HostPort, at.Child("hostPort")), portRule(c.Ports[i].ContainerPort, at.Child("containerPort")))
	}
	return out
}

// portRule: 0 is a port that is not given.
func portRule(port int32, path *field.Path) finding.List {
	var out finding.List
	for _, p := range validation.IsValidPortNum(int(port)) {
		if port != 0 {
			out = append(out, finding.Invalid(path, port, finding.Plain(p), finding.None))
		}
	}
	return out
}

// resourceRules: nothing is asked for beyond its limit, and of what cannot be shared exactly
// the limit, devices in whole numbers. That devices need a limit is left out, because a draft
// without one is planned as it is meant.
func resourceRules(r *corev1.ResourceRequirements, path *field.Path) finding.List {
	var out finding.List
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		if _, requested := r.Requests[name]; !requested && !known(name) {
			out = append(out, unknownResource(name, path.Child("limits").Key(string(name))))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, at := r.Requests[name], path.Child("requests").Key(string(name))
		limit, limited := r.Limits[name]
		switch {
		case !known(name):
			out = append(out, unknownResource(name, at))
		case extended(name) && request.MilliValue()%1000 != 0:
			out = append(out, finding.Invalid(at, request.String(), finding.Say("must be an integer"), finding.None))
		case !shared(name) && limited && request.Cmp(limit) != 0:
			out = append(out, finding.Invalid(at, request.String(), finding.Say("must be equal to the limit of %s", limit.String()), finding.None))
		case limited && request.Cmp(limit) > 0:
			out = append(out, finding.Invalid(at, request.String(), finding.Say("must be less than or equal to the limit of %s", limit.String()), finding.None))
		}
	}
	return out
}

// standard are the resources that containers may have whose names have no domain, besides huge
// pages.
var standard = []string{string(corev1.ResourceCPU), string(corev1.ResourceMemory), string(corev1.ResourceEphemeralStorage)}

func known(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) || slices.Contains(standard, string(name))
}

// gpuResource is an example of a resource with a domain.
const gpuResource = "nvidia.com/gpu"

func unknownResource(name corev1.ResourceName, at *field.Path) finding.Finding {
	advice := finding.Say("give its domain too, such as %s", gpuResource)
	if near, ok := api.Suggest(string(name), append([]string{gpuResource}, standard...)); ok {
		advice = finding.Say("did you mean %s?", near)
	}
	return finding.Invalid(at, string(name), finding.Say("must be a standard resource type or fully qualified"), advice)
}

// extended reports whether a resource is a device of a plugin's, which comes in whole ones.
func extended(name corev1.ResourceName) bool {
	domain, _, qualified := strings.Cut(string(name), "/")
	return qualified && !strings.HasSuffix(domain, "kubernetes.io")
}

// shared reports whether more may be allowed of a resource than is set aside for a pod.
func shared(name corev1.ResourceName) bool {
	return !extended(name) && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// labelRules: nodes may have the labels.
func labelRules(labels map[string]string, path *field.Path) finding.List {
	var out finding.List
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = slices.Concat(out,
			labelRule(path, key, validation.IsQualifiedName(key)),
			labelRule(path.Key(key), labels[key], validation.IsValidLabelValue(labels[key])))
	}
	return out
}

// labelRule reports the problems that a key or a value of a label has.
func labelRule(path *field.Path, text string, problems []string) finding.List {
	var out finding.List
	for _, p := range problems {
		out = append(out, finding.Invalid(path, text, finding.Plain(p), finding.None))
	}
	return out
}

func tolerationRules(t *corev1.Toleration, path *field.Path) finding.List {
	var out finding.List
	if t.Key != "" {
		out = labelRule(path.Child("key"), t.Key, validation.IsQualifiedName(t.Key))
	}
	if t.Operator != corev1.TolerationOpExists {
		out = append(out, labelRule(path.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
	}
	switch t.Operator {
	case "", corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt:
		if t.Key == "" {
			out = append(out, finding.Invalid(path.Child("operator"), t.Operator, finding.Say("must be Exists where there is no key"), finding.None))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			out = append(out, finding.Invalid(path.Child("value"), t.Value, finding.Say("must be empty where the operator is Exists"), finding.Say("remove it, or use the operator Equal")))
		}
	default:
		out = append(out, oneOf(path.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)...)
	}
	if t.Effect != "" {
		out = append(out, oneOf(path.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
	}
	return out
}

func spreadRules(c *corev1.TopologySpreadConstraint, path *field.Path) finding.List {
	var out finding.List
	if c.MaxSkew <= 0 {
		out = append(out, finding.Invalid(path.Child("maxSkew"), c.MaxSkew, finding.Say("must be greater than zero"), finding.None))
	}
	out = append(out, topologyRule(c.TopologyKey, path.Child("topologyKey"))...)
	out = append(out, oneOf(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
	switch {
	case c.MinDomains == nil:
	case *c.MinDomains <= 0:
		out = append(out, finding.Invalid(path.Child("minDomains"), *c.MinDomains, finding.Say("must be greater than zero"), finding.None))
	case c.WhenUnsatisfiable == corev1.ScheduleAnyway:
		out = append(out, finding.Invalid(path.Child("minDomains"), *c.MinDomains, finding.Say("can only be used with whenUnsatisfiable DoNotSchedule"), finding.None))
	}
	return slices.Concat(out,
		policyRule(c.NodeAffinityPolicy, path.Child("nodeAffinityPolicy")),
		policyRule(c.NodeTaintsPolicy, path.Child("nodeTaintsPolicy")),
		selectorRules(c.LabelSelector, path.Child("labelSelector")))
}

func topologyRule(key string, path *field.Path) finding.List {
	if key == "" {
		return finding.List{finding.Required(path, finding.Say("can not be empty"), finding.None)}
	}
	return labelRule(path, key, validation.IsQualifiedName(key))
}

func policyRule(p *corev1.NodeInclusionPolicy, path *field.Path) finding.List {
	if p == nil {
		return nil
	}
	return oneOf(path, *p, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
}

// oneOf refuses a value that is not one of the allowed ones.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) finding.List {
	if slices.Contains(allowed, value) {
		return nil
	}
	return finding.List{finding.Broken(field.ErrorTypeNotSupported, path, string(value), finding.Plain(""), finding.Say("choose %s", finding.Choice(allowed)))}
}
