package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

const nodeProfileDescription = "Declares how nodes are built on AWS: subnets, security groups, image, volumes and user " +
	"data.\n\nThe resource manages the cluster-scoped object `AWSNodeTemplate` of `karpenter.k8s.aws/v1alpha1`. Provisioners " +
	"refer to it by name. The provider only sets the fields that your configuration sets, and only a change of the name forces " +
	"a replacement."

// selectorSyntax is how selectors find resources.
const selectorSyntax = "Tag keys to values; all keys must match. A value may be comma-separated alternatives and hold the " +
	"wildcard `*`; `*` alone means that the tag is there. The key `aws::ids` takes ids instead of a tag."

func nodeProfileSchema(ctx context.Context) schema.Schema {
	level := maps.Clone(nodeProfileAttributes())
	level["name"] = nameAttribute("Name of the node profile.")
	level[forceConflicts], level[deletionTimestamp] = forceAttribute(), deletionAttribute()
	return schema.Schema{
		Version: schemaVersion, MarkdownDescription: nodeProfileDescription, Attributes: level,
		Blocks: objectTimeouts(ctx, "How long to wait until the object is gone, such as `5m`. 2 minutes by default."),
	}
}

// nodeProfileAttributes are those of the resource and of the inline profile.
func nodeProfileAttributes() attributes {
	return attributes{
		"subnet_selector":         textMap("Subnets that machines are launched into. " + selectorSyntax),
		"security_group_selector": textMap("Security groups of the machines; all that match are attached. " + selectorSyntax),
		"instance_profile": text("Name of the IAM instance profile of the nodes. By default the agent's " +
			"`default_instance_profile`."),
		"launch_template": text("Name of your own launch template. You cannot combine it with the arguments that a generated " +
			"template would contain: image, user data, security groups, metadata options, volumes, instance store policy and " +
			"instance profile. The agent's IAM policies only allow a template with the tag `kubernetes.io/cluster/<cluster>` " +
			"set to `owned`."),
		"ami_family": text("`AL2`, `AL2023`, `Bottlerocket`, `Ubuntu`, `Windows2019`, `Windows2022` or `Custom`. " +
			"By default `AL2023` from Kubernetes 1.30 on, else `AL2`."),
		"ami_selector": textMap("Selects the image by tag, `aws::ids`, `aws::name` or `aws::owners`. The newest image that " +
			"matches is used. By default the family's current EKS image. Required with `Custom`."),
		"user_data": text("User data, merged with what the family needs: MIME parts for AL2 and Ubuntu, MIME with `NodeConfig` " +
			"for AL2023, TOML for Bottlerocket, PowerShell for Windows. With `Custom` it is used as it is."),
		"tags": textMap("Tags of instances, volumes, network interfaces, launch templates and fleets. You may set " +
			"`Name`, but not the keys that the agent uses."),
		"metadata_options": object("The instance metadata service.", metadataAttributes()),
		"block_device_mappings": objects("Volumes of the nodes. By default one encrypted `gp3` root volume of 20 GiB "+
			"(Bottlerocket: 4 GiB, and 20 GiB for data; Windows: 50 GiB).", attributes{
			"device_name": requiredText("Name of the device, such as `/dev/xvda`."),
			"root_volume": flag("Whether it is the root volume."),
			"ebs":         object("The EBS volume.", volumeAttributes()),
		}),
		"instance_store_policy": text("`RAID0` combines the local NVMe disks into one volume for containers and ephemeral " +
			"storage, with the families `AL2`, `AL2023` and `Bottlerocket`. By default the disks are not used."),
		"detailed_monitoring": flag("Whether CloudWatch monitors the nodes every minute, which costs extra. Off by default."),
	}
}

func metadataAttributes() attributes {
	return attributes{
		"http_endpoint":      text("`enabled`, the default, or `disabled`."),
		"http_protocol_ipv6": text("`enabled` or `disabled`, the default."),
		"http_put_response_hop_limit": number("Maximum number of network hops of a response, 1 to 64. 2 by default, so that " +
			"pods without host networking can reach the service."),
		"http_tokens": text("`required`, the default, which only allows version 2 of the service, or `optional`."),
	}
}

func volumeAttributes() attributes {
	return attributes{
		"volume_size":           quantity("Size of the volume, such as `100Gi`. Required unless `snapshot_id` is set."),
		"volume_type":           text("`gp3`, the default, `gp2`, `io1`, `io2`, `sc1`, `st1` or `standard`."),
		"iops":                  number("Operations per second, for `gp3`, `io1` and `io2`."),
		"throughput":            number("Throughput in MiB per second, for `gp3`."),
		"encrypted":             flag("Whether the volume is encrypted. On by default."),
		"kms_key_id":            text("Id or ARN of the KMS key."),
		"snapshot_id":           text("Id of the snapshot from which the volume is created."),
		"delete_on_termination": flag("Whether to delete the volume with the instance. On by default."),
	}
}
