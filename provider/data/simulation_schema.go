package data

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const simulationDescription = "Returns what the agent would do now: which machines it would buy for unschedulable pods, at " +
	"what price, and which pods cannot be placed and why.\n\nThe provider runs the agent's own decision code and changes " +
	"nothing. Pods come from manifests, from the live cluster, or from both. Provisioners and node profiles may be drafts, " +
	"such as those that you are about to apply."

func simulationSchema() schema.Schema {
	drafts := func(resource string) schema.DynamicAttribute {
		return schema.DynamicAttribute{
			Optional: true,
			MarkdownDescription: "Drafts: objects with a `name` and the arguments of a `" + resource + "`, or whole resources. They replace live ones of the same name. " +
				"Terraform reads the data source at plan only if all values are known; with a whole resource that has pending changes, it waits until after the apply.",
		}
	}
	return schema.Schema{
		MarkdownDescription: simulationDescription,
		Attributes: map[string]schema.Attribute{
			"manifests": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "YAML or JSON documents with Provisioners, AWSNodeTemplates, pods and workloads, whose " +
					"replicas become pods. Nodes, volumes and other objects that matter for scheduling are taken into account " +
					"too.",
			},
			"provisioners":  drafts("packhorse_provisioner"),
			"node_profiles": drafts("packhorse_node_profile"),
			"live": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether to include the live cluster: its pending pods, its nodes with their free " +
					"capacity, its provisioners and node profiles, and its NodePools and EC2NodeClasses as if the agent served them. By default it is included unless there are `manifests`.",
			},
			"machines": computedObjects("Machines that would be bought.", map[string]schema.Attribute{
				"name":          computedText("Name within the plan. The name of the node is not known yet."),
				"provisioner":   computedText("Name of its provisioner."),
				"instance_type": computedText("Instance type."),
				"zone":          computedText("Zone."),
				"capacity_type": computedText("`spot` or `on-demand`."),
				"hourly_price":  computedPrice("Price in dollars per hour."),
				"pods":          computedTexts("Pods that are placed on it, as `namespace/name`."),
				"moving":        computedTexts("Pods of removed nodes for which it has room."),
				"used":          computedMap("What its pods and DaemonSets request, by resource."),
				"allocatable":   computedMap("Capacity that is available to pods, by resource."),
				"alternatives":  computedNumber("Number of alternative offerings."),
				"why":           computedText("Why this type was chosen."),
			}),
			"bindings": computedObjects("Pods that fit on existing nodes.", map[string]schema.Attribute{
				"pod":  computedText("The pod, as `namespace/name`."),
				"node": computedText("The node."),
			}),
			"unplaced": computedObjects("Pods that cannot be placed.", map[string]schema.Attribute{
				"pod":    computedText("The pod, as `namespace/name`."),
				"reason": computedText("Which constraint prevents it, and what comes closest."),
			}),
			"removals": computedObjects("Nodes that would be removed.", map[string]schema.Attribute{
				"node":   computedText("Name of the node."),
				"reason": computedText("Why the node would be removed."),
			}),
			"hourly_price":  computedPrice("Total price of the machines in dollars per hour."),
			"monthly_price": computedPrice("The same for a month of 730 hours."),
			"lower_bound": computedPrice("Lower bound in dollars per hour: no plan for the same pods that meets the same " +
				"constraints can cost less. Null if none is known."),
			"gap_percent": computedPrice("How far the price can be above the best possible price, in percent. Null if there is " +
				"no lower bound."),
			"summary":   computedText("The whole result as text, as `packhorse-agent simulate` prints it."),
			"plan":      computedText("The decision itself, as JSON."),
			"warnings":  computedTexts("What was assumed or ignored."),
			"catalogue": catalogueAttribute(),
		},
	}
}
