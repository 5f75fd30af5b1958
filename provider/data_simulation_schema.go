package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const simulationDescription = "What the agent would do now: which machines it would buy for pods without a node, at which price, and which pods have no place and why.\n\n" +
	"It is the agent's own decision, made in the provider and carried out by nobody. Pods come from manifests, from the live cluster, or from both; " +
	"provisioners and node profiles may be drafts, such as the ones that are about to be applied."

func simulationSchema() schema.Schema {
	drafts := func(resource string) schema.DynamicAttribute {
		return schema.DynamicAttribute{
			Optional: true,
			MarkdownDescription: "A list of drafts: objects with the arguments of a `" + resource + "` and a `name`, or whole resources. They take the place of live ones of the same name. " +
				"Terraform answers at plan if all of it is known then; a whole resource with pending changes is looked at only after the apply.",
		}
	}
	return schema.Schema{
		MarkdownDescription: simulationDescription,
		Attributes: map[string]schema.Attribute{
			"manifests": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Texts of one or more YAML or JSON documents: Provisioners, AWSNodeTemplates, pods, and workloads, whose replicas become pods. " +
					"Nodes, volumes and other objects that scheduling looks at may be there too.",
			},
			"provisioners":  drafts("packhorse_provisioner"),
			"node_profiles": drafts("packhorse_node_profile"),
			"live": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether the live cluster takes part: its pending pods, its nodes with their free room, its provisioners and node profiles. " +
					"By default it does unless there are `manifests`.",
			},
			"machines": foundObjects("Machines that would be bought.", map[string]schema.Attribute{
				"name":          found("Name within the plan; the node's name is not known yet."),
				"provisioner":   found("Name of its provisioner."),
				"instance_type": found("Instance type."),
				"zone":          found("Zone."),
				"capacity_type": found("`spot` or `on-demand`."),
				"hourly_price":  foundPrice("Price in dollars per hour."),
				"pods":          foundTexts("Pods that it is for, as `namespace/name`."),
				"moving":        foundTexts("Pods of nodes that go for which it has room."),
				"used":          foundMap("What its pods and DaemonSets use, by resource."),
				"allocatable":   foundMap("What pods can have, by resource."),
				"alternatives":  foundNumber("Number of further offerings that may serve it."),
				"why":           found("Why it is of this type."),
			}),
			"bindings": foundObjects("Pods that have a place on nodes that exist.", map[string]schema.Attribute{
				"pod":  found("The pod, as `namespace/name`."),
				"node": found("The node."),
			}),
			"unplaced": foundObjects("Pods that have no place.", map[string]schema.Attribute{
				"pod":    found("The pod, as `namespace/name`."),
				"reason": found("Which constraint decided, and what comes nearest."),
			}),
			"removals": foundObjects("Nodes that would go.", map[string]schema.Attribute{
				"node":   found("Name of the node."),
				"reason": found("Why it goes."),
			}),
			"hourly_price":  foundPrice("Price of the machines together in dollars per hour."),
			"monthly_price": foundPrice("The same for a month of 730 hours."),
			"lower_bound":   foundPrice("Proven bound in dollars per hour: no plan for the same pods that honours the same constraints costs less. Null where none is known."),
			"gap_percent":   foundPrice("How far the price is above the bound, at most, in percent. Null where none is known."),
			"summary":       found("The whole answer as text, as `packhorse-agent simulate` prints it."),
			"plan":          found("The decision itself, as JSON."),
			"warnings":      foundTexts("What had to be assumed, or was ignored."),
			"catalogue":     catalogueAttribute(),
		},
	}
}
