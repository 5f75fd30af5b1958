package agent

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
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// forgetFirst keeps the nodes of the same configuration. Their kubelets need their role.
const forgetFirst = "replace the blocks of `packhorse_provisioner` and `packhorse_node_role` by `removed` blocks with `destroy = false`"

// The values of on_destroy.
const (
	refuseNodes = "refuse"
	drainNodes  = "drain"
	orphanNodes = "orphan"
)

const agentDescription = "Installs the agent in the cluster: the CRDs, a namespace, a ServiceAccount with only the verbs that " +
	"the agent uses, and a Deployment with two replicas, of which one leads. `packhorse-agent manifests` and the Helm chart " +
	"install the same objects.\n\nAn apply returns when all replicas are ready and one leads. A destroy drains the nodes first, " +
	"unless `on_destroy` says otherwise, so that no machine and no finalizer is left. Let provisioners and node profiles " +
	"depend on this resource: they need its CRDs, and on destroy their nodes need the agent. If the same configuration creates the cluster, " +
	"let this resource depend on it, such as with `depends_on = [module.eks, module.vpc]`: " +
	"otherwise a destroy removes the agent's own node and its route to AWS while it drains nodes.\n\nIf you upgrade the provider, the " +
	"next apply upgrades the agent. New replicas start before old ones stop, and nodes are not disturbed."

func resourceSchema(ctx context.Context) schema.Schema {
	level := attribute.Level{
		"namespace": placed("Namespace of the agent.", install.DefaultNamespace),
		"name":      placed("Name of the agent's objects.", install.DefaultName),
		"cluster_name": schema.StringAttribute{
			Optional: true, Computed: true, MarkdownDescription: "Name of the EKS cluster. By default the cluster of the provider block.",
		},
		"region": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{attribute.NotEmpty()}, MarkdownDescription: "AWS region. By default the provider's region, from its " +
				"block, the environment or a profile. If none is known, the agent uses its own environment.",
		},
		"role_arn": attribute.Text("ARN of the IAM role that the agent assumes with a projected token, such as `packhorse_irsa_role.agent.arn`. Omit it with EKS Pod " +
			"Identity, and let this resource depend on the role instead (`depends_on`): otherwise Terraform may install the agent before its role, and destroy the role while the agent " +
			"drains nodes. EKS Pod Identity does not work on Fargate."),
		"interruption_queue": attribute.Text("Name of the queue that receives EventBridge's events about instances, such as " +
			"`packhorse_interruption_queue.main.name`."),
		"default_instance_profile": attribute.Text("Name of the instance profile for node profiles that do not set one."),
		"endpoints": schema.MapAttribute{
			Optional: true, Computed: true, ElementType: types.StringType,
			MarkdownDescription: "URLs of AWS services, instead of the default ones, such as `{ ec2 = \"https://vpce-1234.ec2.eu-west-1.vpce.amazonaws.com\" }`. The agent " +
				"calls the services `" + strings.Join(install.EndpointServices(), "`, `") + "`. By default, it uses the `endpoints` of the provider block for these services. " +
				"Set `{}` for none, for example if only Terraform's machine can reach the endpoints of the provider block. `AWS_ENDPOINT_URL` and " +
				"`AWS_ENDPOINT_URL_<SERVICE>` in Terraform's own environment are not passed on. In `environment`, `AWS_ENDPOINT_URL_<SERVICE>` takes precedence over " +
				"`endpoints`, and `AWS_ENDPOINT_URL` over the endpoints of the provider block. The NetworkPolicy allows the ports 443 and 6443. Set " +
				"`network_policy = false` for an endpoint on another port.",
		},
		"options": attribute.TextMap("Additional flags of `packhorse-agent run`, by name, such as `{ \"batch-idle\" = \"2s\" }`. Several values of `tag` or `scheduler-name` " +
			"have commas between them: `{ \"tag\" = \"team=platform,stage=prod\" }`."),
		"node_pools": attribute.Flag("Whether the agent serves Karpenter's NodePools and EC2NodeClasses too, while Karpenter itself does not run. " +
			"It is the option `node-pools`. Off by default. To take over the machines of Karpenter, the agent's role needs `node_pools = true` of `packhorse_irsa_role` too."),
	}
	for _, part := range []attribute.Level{agentPodAttributes(), agentScopeAttributes(), agentStatusAttributes()} {
		maps.Copy(level, part)
	}
	return schema.Schema{Version: lifecycle.SchemaVersion, MarkdownDescription: agentDescription, Attributes: level, Blocks: agentTimeouts(ctx)}
}

func agentTimeouts(ctx context.Context) map[string]schema.Block {
	const up = "How long to wait until all replicas are ready and one leads, such as `5m`. 10 minutes by default."
	return lifecycle.TimeoutsBlock(ctx, timeouts.Opts{
		Create: true, CreateDescription: up, Update: true, UpdateDescription: up,
		Delete: true, DeleteDescription: "How long to wait for the removal, including the draining of nodes, such as `45m`. 20 " +
			"minutes by default.",
	})
}

// agentPodAttributes are the attributes of the agent's pods.
func agentPodAttributes() attribute.Level {
	amount := func(description, value string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional: true, Computed: true, CustomType: kubevalue.Type{}, Default: stringdefault.StaticString(value),
			PlanModifiers:       []planmodifier.String{kubevalue.KeepSpelling{}},
			Validators:          []validator.String{attribute.NotEmpty()},
			MarkdownDescription: description + " `" + value + "` by default.",
		}
	}
	replicas, _ := install.RangeOf("replicas")
	environment := attribute.TextMap("Additional environment variables of the agent, such as `HTTPS_PROXY`. With a proxy, put the cluster's service range into `NO_PROXY`, " +
		"or requests to the API server go through it too, and set `network_policy = false` unless the proxy listens on the port 443 or 6443. " +
		"Plans do not show the values, but whoever may read the state or the Deployment sees them.")
	environment.Sensitive = true
	return attribute.Level{
		"image": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{attribute.NotEmpty()}, MarkdownDescription: "Reference of the image. By default `" + install.Repository + "` in the version of the provider.",
		},
		"image_pull_secrets": attribute.Texts("Names of Secrets in the namespace to pull the image with."),
		"replicas": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(install.DefaultReplicas),
			MarkdownDescription: "Number of agents, of which one leads. 2 by default.", Validators: []validator.Int64{int64validator.Between(int64(replicas.Least), int64(replicas.Most))},
		},
		"cpu_request": amount("CPU that each agent requests.", install.DefaultCPURequest),
		"memory":      amount("Memory request and limit of each agent.", install.DefaultMemory),
		"priority_class_name": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(install.DefaultPriorityClassName),
			Validators:          []validator.String{attribute.NotEmpty()},
			MarkdownDescription: "Priority class of the pods. `" + install.DefaultPriorityClassName + "` by default.",
		},
		"node_selector": attribute.TextMap("Labels of the nodes that agents run on. A node affinity always keeps agents off nodes that " +
			"Packhorse has bought."),
		"tolerations": attribute.Objects("Taints that the agents tolerate, besides `CriticalAddonsOnly`.", attribute.Level{
			"key":      attribute.Text("Key of the taint. With the operator `Exists`, omit it to match every key."),
			"operator": attribute.Text("`Equal`, the default, or `Exists`."),
			"value":    attribute.Text("Value of the taint."),
			"effect":   attribute.Text("`NoSchedule`, `PreferNoSchedule` or `NoExecute`. Any effect if omitted."),
		}),
		"ca_bundle": attribute.Text("Name of a ConfigMap in the namespace. Its key `ca.crt` has the authorities that the agent trusts when it calls AWS, in PEM, such as that of a proxy " +
			"that inspects TLS. They replace the public ones: add these if the agent calls a part of AWS directly. The pods start only once the ConfigMap exists: create the namespace " +
			"and the ConfigMap before, and set `create_namespace = false`. The agent reads the authorities when it starts. After a change of the ConfigMap, restart it: " +
			"`kubectl -n packhorse rollout restart deployment packhorse-agent`."),
		"environment": environment,
	}
}

// agentScopeAttributes say what belongs to the installation, and what happens on destroy.
func agentScopeAttributes() attribute.Level {
	part := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: description + " On by default."}
	}
	return attribute.Level{
		"create_namespace": part("Whether to create the namespace, with Pod Security set to `restricted`. Set `false` to use a namespace that was made for something else."),
		"install_crds":     part("Whether to install the CRDs."),
		"network_policy":   part("Whether to restrict the agent to DNS, the API server and AWS with a NetworkPolicy."),
		"on_destroy": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(drainNodes),
			Validators: []validator.String{stringvalidator.OneOf(refuseNodes, drainNodes, orphanNodes)},
			MarkdownDescription: "What happens to the nodes on destroy. `drain` (the default): before the agent is removed, it drains the " +
				"nodes of Provisioners that are being deleted and terminates their machines. If a NodePool, or a Provisioner that stays, " +
				"still has nodes, the destroy fails and removes nothing. `refuse`: nothing is destroyed while there are nodes. `orphan`: nodes " +
				"and machines keep running without an agent; while the agent drains nodes, nothing is destroyed. Provisioners of the same configuration are destroyed " +
				"before the agent, with their nodes: to keep these, " + forgetFirst + " and apply first.",
		},
		"keep_crds": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether a destroy keeps the CRDs. By default it keeps them while provisioners or node " +
				"profiles of others exist; the plan and the destroy name these. `true` always keeps the CRDs. `false` deletes " +
				"them together with all provisioners and node profiles, no matter who created them. A replacement keeps " +
				"everything.",
		},
		"force_conflicts": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether to take over fields that others have set, such as CRDs of a Helm release. By default " +
				"`force_conflicts` of the provider block. Later changes of these fields are drift: the plan shows them, and an " +
				"apply reverts them.",
		},
	}
}

// agentStatusAttributes are the attributes about the status of the agent.
func agentStatusAttributes() attribute.Level {
	return attribute.Level{
		"revision": schema.StringAttribute{
			Computed: true, MarkdownDescription: "Digest of the installed objects. `drifted` if the cluster differs.",
		},
		"leader": schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the pod that leads. Empty if none does."},
		"image_digest": schema.StringAttribute{Computed: true, MarkdownDescription: "Digest of the image that the leader runs. Empty " +
			"if its node does not report it."},
		"crd_versions": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Versions in which custom resources may be stored, by the name of their CRD.",
		},
	}
}

// placed returns an attribute of the installation's location. Changing it replaces the installation.
func placed(description, value string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(value),
		MarkdownDescription: description + " `" + value + "` by default. Changing it forces a replacement.",
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:          []validator.String{attribute.NotEmpty()},
	}
}

func agentIdentity() identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"namespace": identityschema.StringAttribute{RequiredForImport: true, Description: "Namespace of the agent."},
		"name":      identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the agent's Deployment."},
	}}
}
