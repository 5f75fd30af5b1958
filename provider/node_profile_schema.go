package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

const nodeProfileDescription = "Declares what machines are built from on AWS: subnets, security groups, image, volumes, user data.\n\n" +
	"It is the cluster-scoped object `karpenter.k8s.aws/v1alpha1` `AWSNodeTemplate`. Provisioners refer to it by its name. " +
	"Only the fields that the configuration sets are declared to the cluster, and only the name forces a replacement."

// selectorSyntax is how selectors find resources.
const selectorSyntax = "Tag keys to values; all keys must match. A value may be comma-separated alternatives and hold the " +
	"wildcard `*`; `*` alone means that the tag is there. The key `aws::ids` takes ids instead of a tag."

func nodeProfileSchema(ctx context.Context) schema.Schema {
	level := maps.Clone(nodeProfileAttributes())
	level["name"] = nameAttribute("Name of the node profile.")
	level[forceConflicts], level[deletionTimestamp] = forceAttribute(), deletionAttribute()
	return schema.Schema{
		Version: schemaVersion, MarkdownDescription: nodeProfileDescription, Attributes: level,
		Blocks: objectTimeouts(ctx, "How long to wait until it is gone, such as `5m`. 2 minutes by default."),
	}
}

// nodeProfileAttributes are those of the resource and of the inline profile.
func nodeProfileAttributes() attributes {
	return attributes{
		"subnet_selector":         textMap("Subnets that machines are launched into. " + selectorSyntax),
		"security_group_selector": textMap("Security groups of the machines; all that match are attached. " + selectorSyntax),
		"instance_profile":        text("Name of the IAM instance profile of the machines. The agent's default if not set."),
		"launch_template": text("Name of a launch template of your own. It excludes what a generated one would set: image, user data, " +
			"security groups, metadata options, volumes, instance store policy and instance profile. The agent's IAM policies let it use only a template with the tag " +
			"`kubernetes.io/cluster/<cluster>` set to `owned`."),
		"ami_family": text("`AL2`, `AL2023`, `Bottlerocket`, `Ubuntu`, `Windows2019`, `Windows2022` or `Custom`. " +
			"By default `AL2023` from Kubernetes 1.30 on, else `AL2`."),
		"ami_selector": textMap("Images of the machines, by tag, `aws::ids`, `aws::name` or `aws::owners`; the newest that fits is used. " +
			"By default the family's current EKS image. Needed with `Custom`."),
		"user_data": text("Merged with what the family needs: MIME parts for AL2 and Ubuntu, MIME with `NodeConfig` for AL2023, TOML for " +
			"Bottlerocket, PowerShell for Windows. Used untouched with `Custom`."),
		"tags":             textMap("Tags of instances, volumes, network interfaces, launch templates and fleets. `Name` may be set, the agent's own keys may not."),
		"metadata_options": object("The instance metadata service.", metadataAttributes()),
		"block_device_mappings": objects("Volumes of the machines. By default one encrypted `gp3` root volume of 20 GiB (Bottlerocket: 4 GiB and 20 GiB for data; "+
			"Windows: 50 GiB).", attributes{
			"device_name": requiredText("Name of the device, such as `/dev/xvda`."),
			"root_volume": flag("Whether it is the root volume."),
			"ebs":         object("The EBS volume.", volumeAttributes()),
		}),
		"instance_store_policy": text("`RAID0` joins local NVMe disks to one that holds containers and pods' ephemeral storage, with the families `AL2`, " +
			"`AL2023` and `Bottlerocket`. By default they are left alone."),
		"detailed_monitoring": flag("Whether CloudWatch monitors the machines each minute, at a cost. Off by default."),
	}
}

func metadataAttributes() attributes {
	return attributes{
		"http_endpoint":               text("`enabled`, the default, or `disabled`."),
		"http_protocol_ipv6":          text("`enabled` or `disabled`, the default."),
		"http_put_response_hop_limit": number("How many network hops an answer may take, 1 to 64. 2 by default, so that pods without a host network can reach it."),
		"http_tokens":                 text("`required`, the default, for version 2 of the service only, or `optional`."),
	}
}

func volumeAttributes() attributes {
	return attributes{
		"volume_size":           quantity("Size of the volume, such as `100Gi`. Needed unless there is a `snapshot_id`."),
		"volume_type":           text("`gp3`, the default, `gp2`, `io1`, `io2`, `sc1`, `st1` or `standard`."),
		"iops":                  number("Operations per second, for `gp3`, `io1` and `io2`."),
		"throughput":            number("Throughput in MiB per second, for `gp3`."),
		"encrypted":             flag("Whether the volume is encrypted. On by default."),
		"kms_key_id":            text("Id or ARN of the KMS key."),
		"snapshot_id":           text("Id of the snapshot that the volume is made from."),
		"delete_on_termination": flag("Whether the volume goes with the instance. On by default."),
	}
}
