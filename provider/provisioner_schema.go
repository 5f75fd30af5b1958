package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

const provisionerDescription = "Declares which nodes the agent may buy for pods that have none, and when those nodes go.\n\n" +
	"It is the cluster-scoped object `karpenter.sh/v1alpha5` `Provisioner`. Only the fields that the configuration " +
	"sets are declared to the cluster, and only the name forces a replacement. Destroying a provisioner drains its " +
	"nodes and terminates their instances first."

func provisionerSchema(ctx context.Context) schema.Schema {
	return schema.Schema{
		Version:             schemaVersion,
		MarkdownDescription: provisionerDescription,
		Attributes: attributes{
			"name": nameAttribute("Name of the provisioner. Its nodes carry it in the label `karpenter.sh/provisioner-name`."),
			"labels": textMap("Labels of every node. A well-known label with one value is also a requirement: " +
				"`{ \"kubernetes.io/arch\" = \"arm64\" }` buys arm64 machines."),
			"annotations":    textMap("Annotations of every node."),
			"taints":         objects("Taints of every node. Only pods that tolerate them are placed there.", taintAttributes()),
			"startup_taints": objects("Taints of new nodes that something else is expected to remove, such as a network plugin. Pods need not tolerate them.", taintAttributes()),
			"requirements": objects("What may be bought, as constraints on the labels of nodes. Where nothing is said about a key the defaults "+
				"are Linux, `amd64`, `on-demand`, and instance categories `c`, `m` and `r` above the second generation; "+
				"`effective_requirements` shows the outcome.", requirementAttributes()),
			"instance_types": texts("Instance types that may be bought. Shorthand for a requirement `node.kubernetes.io/instance-type In [...]`."),
			"pod_overrides": texts("Well-known label keys for which a pod's own required selector replaces this provisioner's values " +
				"instead of being intersected with them."),
			"kubelet_configuration": object("Settings of the kubelets. By default they are derived for each instance type.", kubeletAttributes()),
			"limits": quantityMap("Most that the nodes may add up to, by resource: `{ cpu = \"1000\", memory = \"1000Gi\" }`. " +
				"`0` freezes the provisioner."),
			"consolidation": object("Removing nodes to lower the cost. It excludes `ttl_seconds_after_empty`. Take note: "+api.UsedNotConsolidated+".", attributes{
				"enabled": requiredFlag("Whether nodes are consolidated: removed once they have been empty for `disruption.consolidate_after`."),
			}),
			"ttl_seconds_after_empty":   number("Seconds after which a node without workload pods goes; `0` means at once. Pods of DaemonSets do not count. Off by default."),
			"ttl_seconds_until_expired": number("Seconds after its creation at which a node is replaced. Off by default."),
			"weight":                    number("1 to 100. Provisioners with a higher weight are tried first. Without it the weight is 0."),
			"node_profile": object("An inline node profile, with the arguments of `packhorse_node_profile`. It excludes `provider_ref`, which is preferred.",
				nodeProfileAttributes()),
			"provider_ref": object("The node profile that machines are built from.", attributes{
				"name":        requiredText("Name of the node profile: `packhorse_node_profile.default.name`."),
				"kind":        text("Kind of the node profile. `AWSNodeTemplate` by default."),
				"api_version": text("API version of the node profile. `karpenter.k8s.aws/v1alpha1` by default."),
			}),
			"disruption":      object("How nodes may be taken away voluntarily.", disruptionAttributes()),
			"pod_binding":     text("`Immediate`, the default: the agent creates the node and binds the pods at once. `Scheduler`: the binding is left to kube-scheduler."),
			planPreview:       previewAttribute(),
			forceConflicts:    forceAttribute(),
			deletionTimestamp: deletionAttribute(),
			// A text for each, and not an object: of those a plan shows nine lines for each, and
			// takes Terraform a tenth of its time.
			"effective_requirements": schema.ListAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "What may be bought, all told: requirements, instance types and labels with deprecated keys replaced, and the defaults for what they do not speak of. " +
					"In the syntax of label selectors, such as `karpenter.sh/capacity-type in (on-demand,spot)`; `kubectl get nodes -l` takes them, joined by commas.",
			},
		},
		Blocks: objectTimeouts(ctx, "How long to wait for the nodes to be drained and gone, such as `45m`. 20 minutes by default."),
	}
}

func taintAttributes() attributes {
	return attributes{
		"key":    requiredText("Key of the taint."),
		"value":  text("Value of the taint."),
		"effect": requiredText("`NoSchedule`, `PreferNoSchedule` or `NoExecute`."),
	}
}

func requirementAttributes() attributes {
	return attributes{
		"key":      requiredText("Key of a label, such as `karpenter.sh/capacity-type`."),
		"operator": requiredText("`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte` or `Lte`."),
		"values":   texts("Values of the label; one whole number for `Gt`, `Lt`, `Gte` and `Lte`, none for `Exists` and `DoesNotExist`."),
	}
}

func kubeletAttributes() attributes {
	return attributes{
		"cluster_dns":                     texts("Addresses of the cluster's DNS servers."),
		"container_runtime":               text("Container runtime. `containerd` is the only one that Kubernetes still supports."),
		"system_reserved":                 quantityMap("Resources kept for the system: `cpu`, `memory`, `ephemeral-storage`, `pid`."),
		"kube_reserved":                   quantityMap("Resources kept for Kubernetes itself: `cpu`, `memory`, `ephemeral-storage`, `pid`."),
		"eviction_hard":                   textMap("Thresholds at which pods are evicted at once, by signal: `{ \"memory.available\" = \"5%\" }`."),
		"eviction_soft":                   textMap("Thresholds at which pods are evicted after a grace period, by signal. Each needs its `eviction_soft_grace_period`."),
		"eviction_soft_grace_period":      durationMap("Grace periods of `eviction_soft`, by signal: `{ \"memory.available\" = \"1m\" }`."),
		"eviction_max_pod_grace_period":   number("Longest grace period, in seconds, that pods get at a soft eviction."),
		"image_gc_high_threshold_percent": number("Disk usage in percent above which unused images are always removed."),
		"image_gc_low_threshold_percent":  number("Disk usage in percent down to which unused images are removed."),
		"cpu_cfs_quota":                   flag("Whether CPU limits of containers are enforced."),
		"pods_per_core":                   number("Most pods per core; 0 for no such limit."),
		"max_pods":                        number("Most pods per node."),
	}
}

func disruptionAttributes() attributes {
	return attributes{
		"budgets": objects("How many nodes may be away at the same time. Of several budgets that hold, the smallest counts. By default 10 % of the nodes.", attributes{
			"nodes":    requiredText("A number of nodes such as `3`, or a percentage such as `10%`."),
			"schedule": text("Cron expression in UTC at whose matches the budget begins to hold, such as `0 9 * * mon-fri`. Without it the budget always holds."),
			"duration": duration("How long the budget holds from each match of the schedule, such as `8h`."),
			"reasons":  texts("Reasons that the budget holds for. All of them by default."),
		}),
		"consolidate_after":        duration("How long a node is left alone after a pod has come or gone before it is consolidated, such as `5m`, or `Never`. `30s` by default."),
		"termination_grace_period": duration("How long a drain waits for evictions before the remaining pods are deleted without regard to budgets, each with its own grace period. Without it budgets hold nodes without end."),
		"drift":                    flag("Whether nodes that the provisioner or node profile no longer describes are replaced. On by default."),
	}
}
