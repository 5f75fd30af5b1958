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
			"machines": foundObjects("Machines that would be bought.", map[string]schema.Attribute{
				"name":          found("Name within the plan. The name of the node is not known yet."),
				"provisioner":   found("Name of its provisioner."),
				"instance_type": found("Instance type."),
				"zone":          found("Zone."),
				"capacity_type": found("`spot` or `on-demand`."),
				"hourly_price":  foundPrice("Price in dollars per hour."),
				"pods":          foundTexts("Pods that are placed on it, as `namespace/name`."),
				"moving":        foundTexts("Pods of removed nodes for which it has room."),
				"used":          foundMap("What its pods and DaemonSets use, by resource."),
				"allocatable":   foundMap("Capacity that is available to pods, by resource."),
				"alternatives":  foundNumber("Number of alternative offerings."),
				"why":           found("Why this type was chosen."),
			}),
			"bindings": foundObjects("Pods that fit on existing nodes.", map[string]schema.Attribute{
				"pod":  found("The pod, as `namespace/name`."),
				"node": found("The node."),
			}),
			"unplaced": foundObjects("Pods that cannot be placed.", map[string]schema.Attribute{
				"pod":    found("The pod, as `namespace/name`."),
				"reason": found("Which constraint prevents it, and what comes closest."),
			}),
			"removals": foundObjects("Nodes that would be removed.", map[string]schema.Attribute{
				"node":   found("Name of the node."),
				"reason": found("Why the node would be removed."),
			}),
			"hourly_price":  foundPrice("Total price of the machines in dollars per hour."),
			"monthly_price": foundPrice("The same for a month of 730 hours."),
			"lower_bound": foundPrice("Lower bound in dollars per hour: no plan for the same pods that meets the same " +
				"constraints can cost less. Null if none is known."),
			"gap_percent": foundPrice("How far the price can be above the best possible price, in percent. Null if there is " +
				"no lower bound."),
			"summary":   found("The whole result as text, as `packhorse-agent simulate` prints it."),
			"plan":      found("The decision itself, as JSON."),
			"warnings":  foundTexts("What was assumed or ignored."),
			"catalogue": catalogueAttribute(),
		},
	}
}
