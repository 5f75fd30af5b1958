package provider

import (
	"context"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
)

// What becomes of the nodes when the agent is destroyed.
const (
	refuseNodes = "refuse"
	drainNodes  = "drain"
	orphanNodes = "orphan"
)

const agentDescription = "The agent in the cluster: the definitions of its custom resources, a namespace, a ServiceAccount with the verbs that it " +
	"uses and no others, and a Deployment of two replicas, of which one leads. The provider carries the manifests of its own version; " +
	"`packhorse-agent manifests` and the Helm chart install the same objects.\n\n" +
	"An apply returns when all replicas are up and one leads. On destroy the nodes are drained first, unless `on_destroy` says otherwise, " +
	"so that no machine and no finalizer is left. Let provisioners and node profiles depend on this resource: they need its definitions, and on " +
	"destroy their nodes need the agent.\n\n" +
	"Upgrading the provider upgrades the agent with the next apply: new replicas come up before old ones go, and nodes are not disturbed."

func agentSchema(ctx context.Context) schema.Schema {
	level := attributes{
		"namespace": placed("Namespace of the agent.", install.DefaultNamespace),
		"name":      placed("Name of the agent's objects.", install.DefaultName),
		"cluster_name": schema.StringAttribute{
			Optional: true, Computed: true, MarkdownDescription: "Name of the EKS cluster. That of the provider block by default.",
		},
		"region": schema.StringAttribute{
			Optional: true, Computed: true, MarkdownDescription: "AWS region. That in which the provider works by default, as its block, the environment or a profile says; if nothing says it, what the pods' environment says.",
		},
		"role_arn":                 text("ARN of the IAM role that the agent assumes with a projected token, such as `packhorse_irsa_role.agent.arn`. None with EKS Pod Identity."),
		"interruption_queue":       text("Name of the queue on which EventBridge puts what happens to instances, such as `packhorse_interruption_queue.main.name`."),
		"default_instance_profile": text("Name of the instance profile for node profiles that name none."),
		"endpoints": schema.MapAttribute{
			Optional: true, Computed: true, ElementType: types.StringType,
			MarkdownDescription: "URLs of AWS services in place of the usual ones, such as `{ ec2 = \"https://vpce-1234.ec2.eu-west-1.vpce.amazonaws.com\" }`. The services that the " +
				"agent calls are `" + strings.Join(install.EndpointServices(), "`, `") + "`. By default the `endpoints` of the provider block for these services; `{}` means none, for instance " +
				"where those of the provider block can be reached from Terraform's machine only. `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>` in Terraform's own " +
				"environment are not passed on. In `environment`, `AWS_ENDPOINT_URL_<SERVICE>` takes precedence over `endpoints`, and `AWS_ENDPOINT_URL` over those that come from the provider block. The NetworkPolicy admits the ports 443 and 6443: set " +
				"`network_policy = false` for an endpoint on another port.",
		},
		"options": textMap("Further flags of `packhorse-agent run` by their names, such as `{ \"batch-idle\" = \"2s\" }`."),
	}
	for _, part := range []attributes{agentPodAttributes(), agentScopeAttributes(), agentStatusAttributes()} {
		maps.Copy(level, part)
	}
	return schema.Schema{Version: schemaVersion, MarkdownDescription: agentDescription, Attributes: level, Blocks: agentTimeouts(ctx)}
}

func agentTimeouts(ctx context.Context) map[string]schema.Block {
	const up = "How long it may take until all replicas are up and one leads, such as `5m`. 10 minutes by default."
	return map[string]schema.Block{"timeouts": timeouts.Block(ctx, timeouts.Opts{
		Create: true, CreateDescription: up, Update: true, UpdateDescription: up,
		Delete: true, DeleteDescription: "How long its removal may take, with the draining of nodes, such as `45m`. 20 minutes by default.",
	})}
}

// agentPodAttributes say how the agent's pods are.
func agentPodAttributes() attributes {
	amount := func(description, value string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional: true, Computed: true, CustomType: kubevalue.QuantityType{}, Default: stringdefault.StaticString(value),
			PlanModifiers:       []planmodifier.String{kubevalue.KeepSpelling{}},
			MarkdownDescription: description + " `" + value + "` by default.",
		}
	}
	replicas, _ := install.RangeOf("replicas")
	return attributes{
		"image": schema.StringAttribute{
			Optional: true, Computed: true, MarkdownDescription: "Reference of the image. `" + install.Repository + "` in the version of the provider by default.",
		},
		"image_pull_secrets": texts("Names of Secrets in the namespace to pull the image with."),
		"replicas": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(install.DefaultReplicas),
			MarkdownDescription: "How many agents run, of which one leads. 2 by default.", Validators: []validator.Int64{int64validator.Between(int64(replicas.Least), int64(replicas.Most))},
		},
		"cpu_request": amount("CPU that each agent requests.", install.DefaultCPURequest),
		"memory":      amount("Memory that each agent requests and may use at most.", install.DefaultMemory),
		"priority_class_name": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(install.DefaultPriorityClassName),
			MarkdownDescription: "Priority class of the pods. `" + install.DefaultPriorityClassName + "` by default.",
		},
		"node_selector": textMap("Labels of the nodes that agents run on. A node affinity keeps them off nodes that they have bought."),
		"tolerations": objects("Taints that the pods tolerate besides `CriticalAddonsOnly`.", attributes{
			"key":      text("Key of the taint; with the operator `Exists` it may be left out to mean any."),
			"operator": text("`Equal`, the default, or `Exists`."),
			"value":    text("Value of the taint."),
			"effect":   text("`NoSchedule`, `PreferNoSchedule` or `NoExecute`; any if it is left out."),
		}),
		"environment": textMap("Further environment variables of the agent, such as `HTTPS_PROXY`."),
	}
}

// agentScopeAttributes say what belongs to the installation, and what becomes of it.
func agentScopeAttributes() attributes {
	part := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: description + " On by default."}
	}
	return attributes{
		"create_namespace": part("Whether the namespace is part of the installation, with Pod Security set to `restricted`."),
		"install_crds":     part("Whether the definitions of the custom resources are part of the installation."),
		"network_policy":   part("Whether a NetworkPolicy confines the agent to DNS, the API server and AWS."),
		"on_destroy": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(drainNodes),
			Validators: []validator.String{stringvalidator.OneOf(refuseNodes, drainNodes, orphanNodes)},
			MarkdownDescription: "What becomes of the nodes on destroy. `drain`, the default: the agent drains the nodes of Provisioners that are deleted and " +
				"terminates the machines before it goes; while Provisioners that stay have nodes, nothing is destroyed. `refuse`: nothing is destroyed " +
				"while there are nodes. `orphan`: nodes and machines stay as they are, without an agent that looks after them.",
		},
		"keep_crds": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether the definitions stay on destroy. By default they stay as long as there are provisioners or node profiles, which others " +
				"have declared then, and which the plan and the destroy name. `true`: they always stay. `false`: all provisioners and node profiles are " +
				"deleted with them, whoever has declared them. A replacement deletes none of them.",
		},
		"force_conflicts": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether the installation takes fields over that others have declared, such as definitions of a Helm release. `force_conflicts` of " +
				"the provider block by default. Later changes of the fields are drift, which the plan shows and an apply undoes.",
		},
	}
}

// agentStatusAttributes tell how the agent does.
func agentStatusAttributes() attributes {
	return attributes{
		"revision": schema.StringAttribute{
			Computed: true, MarkdownDescription: "Digest of all that is declared in the cluster; `drifted` if the cluster has something else.",
		},
		"leader":       schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the pod that leads, empty if none does."},
		"image_digest": schema.StringAttribute{Computed: true, MarkdownDescription: "Digest of the image that the leader runs, empty if its node does not say."},
		"crd_versions": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Versions in which custom resources may be stored, by the name of their definition.",
		},
	}
}

// placed is a part of where the installation is: elsewhere is another one.
func placed(description, value string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(value),
		MarkdownDescription: description + " `" + value + "` by default. Changing it forces a replacement.",
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

func agentIdentity() identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"namespace": identityschema.StringAttribute{RequiredForImport: true, Description: "Namespace of the agent."},
		"name":      identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the agent's Deployment."},
	}}
}
