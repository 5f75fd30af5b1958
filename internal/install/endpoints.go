package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// EndpointForAll is the variable of the AWS SDKs that gives every service an endpoint,
// unless the service has a variable of its own.
const EndpointForAll = "AWS_ENDPOINT_URL"

// endpointServices are the AWS services that the agent calls.
var endpointServices = []string{"ec2", "eks", "iam", "pricing", "sqs", "ssm", "sts"}

// EndpointServices lists the services that Settings.Endpoints takes, in order.
func EndpointServices() []string { return slices.Clone(endpointServices) }

// EndpointVariable is the variable in which the AWS SDKs look for a service's endpoint
// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
func EndpointVariable(service string) string { return EndpointForAll + "_" + strings.ToUpper(service) }

// endpointService is the service that a variable is for, empty for any other variable.
func endpointService(variable string) string {
	if i := slices.IndexFunc(endpointServices, func(s string) bool { return EndpointVariable(s) == variable }); i >= 0 {
		return endpointServices[i]
	}
	return ""
}

// endpointVariables are the variables of the endpoints that the environment does not
// replace.
func (s *Settings) endpointVariables() (vars []corev1.EnvVar) {
	for _, service := range slices.Sorted(maps.Keys(s.Endpoints)) {
		variable := EndpointVariable(service)
		if _, replaced := s.Environment[variable]; !replaced {
			vars = append(vars, corev1.EnvVar{Name: variable, Value: s.Endpoints[service]})
		}
	}
	return vars
}

// InTermsOf returns the settings that Parse has found as declared ones say the same: an
// endpoint that these give by a variable of the environment is in the environment, and
// one that the variable replaces stays as it is declared. The selector of nodes with Linux,
// which every installation has, is left out unless it is declared.
func (s Settings) InTermsOf(declared Settings) Settings {
	endpoints, environment := map[string]string{}, map[string]string{}
	maps.Copy(environment, s.Environment)
	for _, service := range endpointServices {
		variable := EndpointVariable(service)
		from := s.Endpoints
		if _, replaced := declared.Environment[variable]; replaced {
			set(environment, variable, s.Endpoints, service)
			from = declared.Endpoints
		}
		set(endpoints, service, from, service)
	}
	s.Endpoints, s.Environment = endpoints, environment
	if _, own := declared.NodeSelector[corev1.LabelOSStable]; !own && s.NodeSelector[corev1.LabelOSStable] == "linux" {
		s.NodeSelector = maps.Clone(s.NodeSelector)
		delete(s.NodeSelector, corev1.LabelOSStable)
	}
	return s
}

// set copies a value that is there.
func set(to map[string]string, key string, from map[string]string, name string) {
	if value, ok := from[name]; ok {
		to[key] = value
	}
}

func checkEndpoints(at *field.Path, endpoints map[string]string) (errs field.ErrorList) {
	for _, service := range slices.Sorted(maps.Keys(endpoints)) {
		if !slices.Contains(endpointServices, service) {
			message := "is not an AWS service that the agent calls; these are " + strings.Join(endpointServices, ", ")
			if meant, ok := api.Suggest(service, endpointServices); ok {
				message = fmt.Sprintf("is not an AWS service that the agent calls; did you mean %q?", meant)
			}
			errs = append(errs, field.Invalid(at, service, message))
		} else if url := endpoints[service]; !policy.Endpoint.Fits(url) {
			errs = append(errs, field.Invalid(at.Key(service), url, policy.Endpoint.Says()))
		}
	}
	return errs
}
