package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// defaultFieldManager is the default field manager of the provider.
const defaultFieldManager = "packhorse-terraform"

const providerDescription = "Declares node provisioning for EKS: provisioners and node profiles, and the roles and the queue that they need in AWS.\n\n" +
	"Set `cluster_name` or `kubernetes` to name the cluster. If you set neither, the provider uses the kubeconfig that " +
	"`KUBE_CONFIG_PATH` names. All values may be known only after apply."

// services are the AWS services whose endpoints can be set.
var services = []string{"autoscaling", "ec2", "eks", "events", "iam", "pricing", "sqs", "ssm", "sts"}

func providerSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: providerDescription,
		Attributes: map[string]schema.Attribute{
			"cluster_name": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Name of the EKS cluster. The provider looks up its endpoint, certificate authority and " +
					"OIDC issuer, and mints a token for each request. The `aws` command is not needed.",
			},
			"region": optionalText("AWS region. By default from the environment or the profile. Apply a saved plan with the region that it was made with: if another job " +
				"applies it, set the region here."),
			"profile": optionalText("Profile in the shared AWS configuration files."),
			"assume_role": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "IAM role that the provider assumes for all calls to AWS.",
				Attributes: map[string]schema.Attribute{
					"role_arn":     schema.StringAttribute{Required: true, MarkdownDescription: "ARN of the role.", Validators: []validator.String{attribute.Form(policy.RoleARN)}},
					"session_name": optionalText("Name of the session. `terraform-provider-packhorse` by default."),
					"external_id":  optionalText("External id that the role's trust policy requires."),
					"duration":     optionalText("How long the session's credentials are valid, such as `30m`. 15 minutes by default. The provider renews them before they expire."),
				},
			},
			"default_tags": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Tags of every AWS resource that this provider creates. The tags of a resource take precedence.",
				Validators:          []validator.Map{attribute.ValidTags{}},
			},
			"endpoints": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "URLs of AWS services, instead of the default ones. They take precedence over " +
					"`AWS_ENDPOINT_URL_<SERVICE>` and `AWS_ENDPOINT_URL`. `packhorse_agent` passes them to the agent unless it " +
					"sets its own `endpoints`. Tokens for the cluster name the public endpoint of STS even if " +
					"`sts` is an endpoint of a VPC, because EKS accepts no other.",
				Attributes: endpointAttributes(),
			},
			"kubernetes": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "How the provider connects to the cluster, instead of `cluster_name`.",
				Attributes:          kubernetesAttributes(),
			},
			"field_manager": optionalText("Field manager of the provider's server-side apply. `" + defaultFieldManager + "` by default."),
			"force_conflicts": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether to take over fields that another field manager has set. By default this is an " +
					"error that names the manager and the field.",
			},
			"plan_checks": schema.StringAttribute{
				Optional:   true,
				Validators: []validator.String{stringvalidator.OneOf(session.ChecksError, session.ChecksWarn, session.ChecksOff)},
				MarkdownDescription: "How plans use the catalogue and the cluster to check a change. With `warn` (the default), " +
					"a configuration that cannot work is an error, and a questionable one is a warning. With `error`, both are errors. With `off`, " +
					"plans check neither. If the provider knows instance types from its built-in table only, which may lack new ones, what it finds there is a warning.",
			},
			"catalogue_file": optionalText("Path of a saved catalogue of instance types and prices (CSV or JSON). Plans use it " +
				"instead of AWS, for example in CI. Apply a saved plan with the file that it was made with."),
		},
	}
}

func optionalText(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func secret(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
}

func endpointAttributes() map[string]schema.Attribute {
	out := make(map[string]schema.Attribute, len(services))
	for _, service := range services {
		out[service] = schema.StringAttribute{
			Optional: true, MarkdownDescription: "URL of the service `" + service + "`.", Validators: []validator.String{attribute.FormOrEmpty(policy.Endpoint)},
		}
	}
	return out
}

func kubernetesAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"host":                   optionalText("URL of the API server."),
		"cluster_ca_certificate": optionalText("Certificate authority of the API server, as PEM."),
		"tls_server_name":        optionalText("Name that the API server's certificate is verified for, if it is not that of `host`."),
		"proxy_url":              optionalText("URL of a proxy in front of the API server."),
		"token":                  secret("Bearer token."),
		"client_certificate":     optionalText("Client certificate, as PEM."),
		"client_key":             secret("Key of the client certificate, as PEM."),
		"config_path":            optionalText("Path of a kubeconfig, instead of `host`."),
		"config_context":         optionalText("Context of the kubeconfig. Its current context by default."),
		"exec": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Program that prints credentials.",
			Attributes: map[string]schema.Attribute{
				"api_version": schema.StringAttribute{Required: true, MarkdownDescription: "Version of the protocol, such as `client.authentication.k8s.io/v1`."},
				"command":     schema.StringAttribute{Required: true, MarkdownDescription: "The program."},
				"args":        schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Its arguments."},
				"env": schema.MapAttribute{
					Optional: true, Sensitive: true, ElementType: types.StringType, MarkdownDescription: "Environment variables for it.",
				},
			},
		},
	}
}
