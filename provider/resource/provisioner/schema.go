package provisioner

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/nodeprofile"
)

const provisionerDescription = "Declares which nodes the agent may buy for unschedulable pods, and when it removes them.\n\nThe " +
	"resource manages the cluster-scoped object `Provisioner` of `karpenter.sh/v1alpha5`. The provider only sets the fields " +
	"that your configuration sets, and only a change of the name forces a replacement. Destroying a provisioner first drains " +
	"its nodes and terminates their instances."

// Schema returns the attributes of the resource.
func (Kind) Schema(ctx context.Context) schema.Schema {
	return schema.Schema{
		Version:             lifecycle.SchemaVersion,
		MarkdownDescription: provisionerDescription,
		Attributes: attribute.Level{
			"name": attribute.Name("Name of the provisioner. Its nodes carry it in the label `karpenter.sh/provisioner-name`. If you change it, the new provisioner is created only " +
				"once the old one and its nodes are gone, and nothing buys nodes for their pods until then, unless `lifecycle` has `create_before_destroy = true`."),
			"labels": attribute.TextMap("Labels of every node. A well-known label is also a requirement: with `{ \"kubernetes.io/arch\" = " +
				"\"arm64\" }` the agent buys arm64 machines."),
			"annotations": attribute.TextMap("Annotations of every node."),
			"taints":      attribute.Objects("Taints of every node. Only pods that tolerate them are placed there.", taintAttributes()),
			"startup_taints": attribute.Objects("Taints of new nodes that another program, such as a network plugin, removes. Pods need "+
				"not tolerate them. The agent buys nodes for pods that do not, and these pods run there once the taints are gone.", taintAttributes()),
			"requirements": attribute.Objects("Constraints on the labels of nodes, which determine what may be bought. Keys that you do "+
				"not mention have defaults: Linux, `amd64`, `on-demand`, and the instance categories `c`, `m` and `r` above "+
				"the second generation. `effective_requirements` shows the result.", requirementAttributes()),
			"instance_types": attribute.Texts("Instance types that may be bought. Shorthand for a requirement `node.kubernetes.io/instance-type In [...]`."),
			"pod_overrides": attribute.Texts("Well-known label keys for which a pod's own selector replaces the provisioner's values. By " +
				"default the two are intersected."),
			"kubelet_configuration": attribute.Object("Settings of the kubelets. By default they are derived from the instance type.", kubeletAttributes()),
			"limits": attribute.MeasureMap("Maximum total of all nodes, by resource: `{ cpu = \"1000\", nodes = \"50\" }`. `nodes` is the number of nodes. With `0` " +
				"the agent buys no more nodes."),
			"consolidation": attribute.Object("Removing and replacing nodes to lower the cost. It excludes `ttl_seconds_after_empty`.", attribute.Level{
				"enabled": attribute.RequiredFlag("Whether to consolidate nodes: to remove nodes that have been empty for `disruption.consolidate_after`, and to empty or replace nodes whose " +
					"pods fit on fewer or cheaper nodes, if the saving exceeds the cost of moving the pods."),
			}),
			"ttl_seconds_after_empty": attribute.Number("Seconds after which a node without workload pods is removed. `0` means " +
				"immediately. Pods of DaemonSets do not count. Off by default."),
			"ttl_seconds_until_expired": attribute.Number("Age in seconds at which a node is replaced. Off by default."),
			"weight": attribute.Number("Weight, 1 to 100. Pods get machines from the Provisioner with the highest weight that can take them. " +
				"Where no limit binds, they first use the room that is left on machines of other Provisioners. 0 by default."),
			"node_profile": attribute.Object("An inline node profile, with the arguments of `packhorse_node_profile`. You cannot combine "+
				"it with `provider_ref`, which is preferred.",
				nodeprofile.Attributes()),
			"provider_ref": attribute.Object("The node profile of the provisioner. Without it and without `node_profile`, "+
				"machines have the defaults of `packhorse_node_profile`.", attribute.Level{
				"name":        attribute.RequiredText("Name of the node profile: `packhorse_node_profile.default.name`."),
				"kind":        attribute.Text("Kind of the node profile. `AWSNodeTemplate` by default."),
				"api_version": attribute.Text("API version of the node profile. `karpenter.k8s.aws/v1alpha1` by default."),
			}),
			"disruption": attribute.Object("How the agent may disrupt nodes voluntarily.", disruptionAttributes()),
			"pod_binding": attribute.Text("`Immediate`, the default: the agent creates the node and immediately binds the pods of ReplicaSets, ReplicationControllers " +
				"and StatefulSets to it. kube-scheduler binds all other pods once the node is ready. These include pods that do not tolerate the " +
				"`startup_taints`, pods whose tolerations let Kubernetes evict them from an unready node within five minutes, and all pods on " +
				"Windows and bare metal nodes. `Scheduler`: kube-scheduler binds all pods."),
			planPreview:                      previewAttribute(),
			customresource.ForceConflicts:    attribute.ForceConflicts(),
			customresource.DeletionTimestamp: customresource.DeletionAttribute(),
			// Each requirement is a string and not an object. A plan shows nine lines for an
			// object, and Terraform spent a tenth of its time on them.
			"effective_requirements": schema.ListAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "All requirements that apply: those from `requirements`, `instance_types` and `labels`, " +
					"with deprecated keys replaced, and the defaults for all other keys. They are label selectors, such as " +
					"`karpenter.sh/capacity-type in (on-demand,spot)`; join them with commas for `kubectl get nodes -l`.",
			},
		},
		Blocks: customresource.Timeouts(ctx, "How long to wait until all nodes are drained and removed, such as `45m`. 20 minutes by default."),
	}
}

func taintAttributes() attribute.Level {
	return attribute.Level{
		"key":    attribute.RequiredText("Key of the taint."),
		"value":  attribute.Text("Value of the taint."),
		"effect": attribute.RequiredText("`NoSchedule`, `PreferNoSchedule` or `NoExecute`."),
	}
}

func requirementAttributes() attribute.Level {
	return attribute.Level{
		"key":      attribute.RequiredText("Key of a label, such as `karpenter.sh/capacity-type`."),
		"operator": attribute.RequiredText("`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte` or `Lte`."),
		"values":   attribute.Texts("Values of the label. One whole number for `Gt`, `Lt`, `Gte` and `Lte`; none for `Exists` and `DoesNotExist`."),
		"min_values": attribute.Number("Minimum number of different values of the label among the instance types of a launch request, 1 to 50. " +
			"If there are fewer values for a pod, the agent buys no node for it. 1 by default."),
	}
}

func kubeletAttributes() attribute.Level {
	return attribute.Level{
		"cluster_dns":       attribute.Texts("Addresses of the cluster's DNS servers."),
		"container_runtime": attribute.Text("Container runtime. `containerd` is the only one that Kubernetes still supports."),
		"system_reserved": attribute.MeasureMap("Resources reserved for the operating system: `cpu`, `memory`, " +
			"`ephemeral-storage`, `pid`."),
		"kube_reserved": attribute.MeasureMap("Resources reserved for Kubernetes components: `cpu`, `memory`, " +
			"`ephemeral-storage`, `pid`."),
		"eviction_hard": attribute.TextMap("Thresholds at which pods are evicted immediately, by signal: `{ " +
			"\"memory.available\" = \"5%\" }`."),
		"eviction_soft":                   attribute.TextMap("Thresholds at which pods are evicted after a grace period, by signal. Each needs its `eviction_soft_grace_period`."),
		"eviction_soft_grace_period":      attribute.MeasureMap("Grace periods of `eviction_soft`, by signal: `{ \"memory.available\" = \"1m\" }`."),
		"eviction_max_pod_grace_period":   attribute.Number("Maximum grace period of pods at a soft eviction, in seconds."),
		"image_gc_high_threshold_percent": attribute.Number("Disk usage in percent above which unused images are always removed."),
		"image_gc_low_threshold_percent":  attribute.Number("Disk usage in percent down to which unused images are removed."),
		"cpu_cfs_quota":                   attribute.Flag("Whether CPU limits of containers are enforced."),
		"pods_per_core":                   attribute.Number("Maximum number of pods per core. 0 means no such limit."),
		"max_pods":                        attribute.Number("Maximum number of pods per node."),
	}
}

func disruptionAttributes() attribute.Level {
	return attribute.Level{
		"budgets": attribute.Objects("How many nodes may be disrupted at the same time. If several budgets apply, the smallest counts. "+
			"By default 10 % of the nodes, without a limit for empty nodes. A budget that you set also holds for empty nodes.", attribute.Level{
			"nodes": attribute.RequiredText("A number of nodes such as `3`, or a percentage such as `10%`."),
			"schedule": attribute.Text("Cron expression in UTC for the times at which the budget begins to apply, such as `0 9 * * " +
				"mon-fri`. Without it, the budget always applies."),
			"duration": attribute.Measure("How long the budget applies from each match of the schedule, such as `8h`."),
			"reasons":  attribute.Texts("Reasons to which the budget applies: `emptiness`, `expiry`, `drift` and `consolidation`. All reasons by default."),
		}),
		"consolidate_after": attribute.Measure("How long after the last change of its pods a node may be consolidated, such as `5m`, or `Never`. `30s` by default."),
		"eviction_cost": attribute.Text("Cost of moving a pod, in hours of the price of the pod's resources, such as `0.5`. Consolidation weighs it against the " +
			"saving. `1` by default. With `Never`, consolidation moves no pods."),
		"windows": attribute.Objects("Times at which nodes may be disrupted voluntarily. By default, they may be disrupted at any time.", attribute.Level{
			"schedule":  attribute.RequiredText("Cron expression at whose matches the window opens, such as `0 22 * * *`. A match at a time that clocks skip when they are set forward counts right after that."),
			"time_zone": attribute.Text("Time zone of the schedule, such as `Europe/Berlin`. UTC by default."),
			"duration":  attribute.RequiredMeasure("How long the window is open from each match of the schedule, such as `8h`."),
		}),
		"termination_grace_period": attribute.Measure("How long a drain waits for evictions. After that, the remaining pods are deleted " +
			"regardless of PodDisruptionBudgets, each with its own grace period. Without it, a PodDisruptionBudget can block a " +
			"drain indefinitely."),
		"drift": attribute.Flag("Whether to replace nodes that no longer match the provisioner or node profile. On by default."),
	}
}
