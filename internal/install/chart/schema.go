package chart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Schema returns the JSON schema of the chart's values.
func Schema() ([]byte, error) {
	type schema = map[string]any
	text := func(description string) schema { return schema{"type": "string", "description": description} }
	flag := func(description string) schema { return schema{"type": "boolean", "description": description} }
	level := func(properties schema, description string) schema {
		return schema{"type": "object", "properties": properties, "additionalProperties": false, "description": description}
	}
	options := schema{}
	for _, name := range install.OptionNames() {
		options[name] = optionSchema(name)
	}
	replicas := optionSchema("replicas")
	replicas["description"] = "How many agents run, of which one leads."
	endpoints := schema{}
	for _, service := range install.EndpointServices() {
		endpoints[service] = schema{"type": "string", "pattern": policy.Endpoint.Pattern()}
	}
	textMap := func(description string) schema {
		return schema{"type": "object", "additionalProperties": schema{"type": texts}, "description": description}
	}
	environment := textMap("Additional environment variables, except those that the chart sets. Quote numbers.")
	name, own := install.VariableNames()
	environment["propertyNames"] = schema{"pattern": name, "not": schema{"pattern": own}}
	values := level(schema{
		"clusterName":            schema{"type": "string", "minLength": 1, "description": "Name of the EKS cluster; required."},
		"region":                 text("AWS region; empty for what the pods' environment says."),
		"roleArn":                schema{"type": "string", "pattern": "^(arn:aws[a-z-]*:iam::[0-9]{12}:role/.+)?$", "description": "ARN of the IAM role that the agent assumes; empty with EKS Pod Identity."},
		"interruptionQueue":      schema{"type": "string", "pattern": "^[A-Za-z0-9_.-]*$", "description": "Name of the interruption queue."},
		"defaultInstanceProfile": text("Instance profile for node profiles that do not set one."),
		"endpoints":              level(endpoints, "URLs of AWS services, instead of the default ones. AWS_ENDPOINT_URL_<SERVICE> in environment takes precedence."),
		"options":                level(options, "Additional flags of `packhorse-agent run`."),
		"image": level(schema{
			"repository": text("Repository of the image."), "tag": text("Tag. If it is empty, the chart's version of the agent."),
			"digest": schema{"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$", "description": "Digest, which takes precedence over the tag."},
		}, "The image of the agent."),
		"imagePullSecrets":  schema{"type": "array", "items": schema{"type": "string"}, "description": "Names of Secrets to pull the image with."},
		"replicas":          replicas,
		"cpuRequest":        schema{"type": []string{"string", "number"}, "description": "CPU that each agent requests."},
		"memory":            text("Memory request and limit of each agent."),
		"priorityClassName": text("Priority class of the pods."),
		"nodeSelector":      textMap("Labels of the nodes that agents run on. Quote numbers."),
		"tolerations":       schema{"type": "array", "items": schema{"type": "object"}, "description": "Taints that the pods tolerate besides CriticalAddonsOnly."},
		"caBundle":          text("Name of a ConfigMap whose key ca.crt has the authorities that the agent trusts when it calls AWS; empty for the public ones."),
		"environment":       environment,
		"networkPolicy":     flag("Whether to restrict the agent's connections with a NetworkPolicy."),
		"crds": level(schema{
			"install": flag("Whether to install the CRDs. Helm upgrades them with the chart."),
			"keep":    flag("Whether to keep the CRDs, and all custom resources, on uninstall and when Argo CD or Flux prunes."),
		}, "The CRDs of the custom resources."),
		"global":  schema{"type": "object"},
		"enabled": flag("Whether a chart that depends on this one installs it. It is for conditions of dependencies, and has no effect here."),
	}, "Values of the chart packhorse-agent.")
	values["$schema"] = "https://json-schema.org/draft-07/schema#"
	values["required"] = []string{"clusterName"}
	rendered, err := json.MarshalIndent(values, "", "  ")
	return append(rendered, '\n'), err
}

// durations are what Go reads, without a sign. A pattern cannot compare: the agent does.
const durations = `([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+|0`

// texts are the types of values that are texts. Numbers are not among them: Helm has lost how they were written, and
// would write 450000000 as 4.5e+08, and 1.10 as 1.1.
var texts = []string{"string", "boolean"}

// optionSchema is that of a flag's value, with its bounds.
func optionSchema(name string) map[string]any {
	type schema = map[string]any
	r, ranged := install.RangeOf(name)
	switch choices := install.ChoicesOf(name); {
	case slices.Equal(choices, []string{"true", "false"}):
		return schema{"enum": []any{true, false, "true", "false"}}
	case len(choices) > 0:
		return schema{"enum": choices}
	case !ranged:
		return schema{"type": texts}
	case r.Duration:
		forms := []string{durations}
		for _, off := range r.Off {
			forms = append(forms, fmt.Sprintf("%gs", off))
		}
		return schema{"type": "string", "pattern": "^(" + strings.Join(forms, "|") + ")$"}
	}
	out := schema{"type": "number", "minimum": r.Least, "maximum": r.Most}
	if r.Whole {
		out["type"] = "integer"
	}
	if len(r.Off) > 0 {
		return schema{"anyOf": []schema{out, {"enum": r.Off}}}
	}
	return out
}
