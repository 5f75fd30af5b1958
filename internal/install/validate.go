package install

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// The forms of an image reference (https://pkg.go.dev/github.com/distribution/reference)
// and of the name of an environment variable.
var (
	image        = regexp.MustCompile(`^[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Validate checks defaulted settings. Paths begin with the names of the resource's
// attributes.
func (s *Settings) Validate() field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, s.checkNames()...)
	errs = append(errs, checkEndpoints(field.NewPath("endpoints"), s.Endpoints)...)
	errs = append(errs, checkOptions(field.NewPath("options"), s.Options)...)
	return append(errs, s.checkPod()...)
}

func (s *Settings) checkNames() (errs field.ErrorList) {
	for _, name := range []struct{ at, value string }{{"namespace", s.Namespace}, {"name", s.Name}} {
		for _, problem := range validation.IsDNS1123Label(name.value) {
			errs = append(errs, field.Invalid(field.NewPath(name.at), name.value, problem))
		}
	}
	if s.ClusterName == "" {
		errs = append(errs, field.Required(field.NewPath("cluster_name"), "the agent needs the name of its EKS cluster"))
	}
	for _, form := range []struct {
		at, value string
		form      policy.Form
	}{
		{"cluster_name", s.ClusterName, policy.ClusterName},
		{"region", s.Region, policy.Region},
		{"role_arn", s.RoleARN, policy.RoleARN},
		{"interruption_queue", s.Queue, policy.QueueName},
		{"default_instance_profile", s.InstanceProfile, policy.ProfileName},
	} {
		if form.value != "" && !form.form.Fits(form.value) {
			errs = append(errs, field.Invalid(field.NewPath(form.at), form.value, form.form.Says()))
		}
	}
	if !image.MatchString(s.Image) {
		errs = append(errs, field.Invalid(field.NewPath("image"), s.Image, "must be an image reference, such as "+Repository+":1.2.3 or …@sha256:…"))
	}
	return errs
}

func (s *Settings) checkPod() (errs field.ErrorList) {
	if wrong := Nonsense("replicas", strconv.Itoa(int(*s.Replicas))); wrong != "" {
		errs = append(errs, field.Invalid(field.NewPath("replicas"), *s.Replicas, wrong+"; one leads, the others stand by"))
	}
	for _, quantity := range []struct{ at, value, least, most, usual string }{
		{"cpu_request", s.CPURequest, leastCPU, mostCPU, DefaultCPURequest},
		{"memory", s.Memory, leastMemory, mostMemory, DefaultMemory},
	} {
		q, err := amount.Parse(quantity.value)
		if err != nil || q.Cmp(resource.MustParse(quantity.least)) < 0 || q.Cmp(resource.MustParse(quantity.most)) > 0 {
			errs = append(errs, field.Invalid(field.NewPath(quantity.at), quantity.value,
				fmt.Sprintf("must be a quantity from %s to %s, such as %s", quantity.least, quantity.most, quantity.usual)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		if !variableName.MatchString(name) {
			errs = append(errs, field.Invalid(field.NewPath("environment"), name, "must be the name of a variable: letters, digits and _"))
		} else if owner := ownVariable(name); owner != "" {
			errs = append(errs, field.Invalid(field.NewPath("environment"), name, "is set by the installation: "+owner))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.NodeSelector)) {
		problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(s.NodeSelector[key])...)
		for _, problem := range problems {
			errs = append(errs, field.Invalid(field.NewPath("node_selector").Key(key), s.NodeSelector[key], problem))
		}
	}
	for i, name := range s.PullSecrets {
		for _, problem := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, field.Invalid(field.NewPath("image_pull_secrets").Index(i), name, problem))
		}
	}
	if s.CABundle != "" {
		for _, problem := range validation.IsDNS1123Subdomain(s.CABundle) {
			errs = append(errs, field.Invalid(field.NewPath("ca_bundle"), s.CABundle, problem))
		}
	}
	for _, problem := range validation.IsDNS1123Subdomain(s.PriorityClassName) {
		errs = append(errs, field.Invalid(field.NewPath("priority_class_name"), s.PriorityClassName, problem))
	}
	return append(errs, checkTolerations(field.NewPath("tolerations"), s.Tolerations)...)
}

// checkTolerations holds the rules of the API server's own validation.
func checkTolerations(at *field.Path, tolerations []corev1.Toleration) (errs field.ErrorList) {
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	for i, t := range tolerations {
		switch {
		case t.Operator != "" && t.Operator != corev1.TolerationOpEqual && t.Operator != corev1.TolerationOpExists:
			errs = append(errs, field.NotSupported(at.Index(i).Child("operator"), t.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
		case t.Key == "" && t.Operator != corev1.TolerationOpExists:
			errs = append(errs, field.Invalid(at.Index(i).Child("key"), t.Key, "may be empty with the operator Exists only, which tolerates every taint"))
		case t.Operator == corev1.TolerationOpExists && t.Value != "":
			errs = append(errs, field.Invalid(at.Index(i).Child("value"), t.Value, "must be empty with the operator Exists"))
		}
		for _, problem := range validation.IsQualifiedName(t.Key) {
			if t.Key != "" {
				errs = append(errs, field.Invalid(at.Index(i).Child("key"), t.Key, problem))
			}
		}
		for _, problem := range validation.IsValidLabelValue(t.Value) {
			errs = append(errs, field.Invalid(at.Index(i).Child("value"), t.Value, problem))
		}
		if !slices.Contains(effects, t.Effect) {
			errs = append(errs, field.NotSupported(at.Index(i).Child("effect"), t.Effect, effects[1:]))
		}
	}
	return errs
}

// ownVariables are the variables that the installation sets, as parts of a regular expression, and where their values
// come from.
var ownVariables = []struct{ names, from string }{
	{"POD_NAME|AWS_ROLE_SESSION_NAME", "the name of the pod"},
	{"AWS_ROLE_ARN|AWS_WEB_IDENTITY_TOKEN_FILE", "set role_arn"},
	{"AWS_REGION", "set region"},
	{"PACKHORSE_.*", "use options"},
}

// ownVariable says where a variable comes from that the installation sets.
func ownVariable(name string) string {
	for _, own := range ownVariables {
		if regexp.MustCompile("^(" + own.names + ")$").MatchString(name) {
			return own.from
		}
	}
	return ""
}

// VariableNames returns regular expressions: one that names of variables of Environment match, and one that they do not
// match.
func VariableNames() (match, differ string) {
	var own []string
	for _, o := range ownVariables {
		own = append(own, o.names)
	}
	return variableName.String(), "^(" + strings.Join(own, "|") + ")$"
}
