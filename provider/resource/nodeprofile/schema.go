package nodeprofile

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

const nodeProfileDescription = "Declares how nodes are built on AWS: subnets, security groups, image, volumes and user " +
	"data.\n\nThe resource manages the cluster-scoped object `AWSNodeTemplate` of `karpenter.k8s.aws/v1alpha1`. Provisioners " +
	"refer to it by name. The provider only sets the fields that your configuration sets, and only a change of the name forces " +
	"a replacement."

// selectorSyntax describes selectors.
const selectorSyntax = "A map of tag keys to values, all of which must match. A value may list alternatives, separated by commas, and " +
	"contain the wildcard `*`; `*` alone matches any value. The key `aws::ids` selects by id instead of by tag."

// Schema returns the attributes of the resource.
func (Kind) Schema(ctx context.Context) schema.Schema {
	level := maps.Clone(Attributes())
	level["name"] = attribute.Name("Name of the node profile.")
	level[customresource.ForceConflicts], level[customresource.DeletionTimestamp] = attribute.ForceConflicts(), customresource.DeletionAttribute()
	return schema.Schema{
		Version: lifecycle.SchemaVersion, MarkdownDescription: nodeProfileDescription, Attributes: level,
		Blocks: customresource.Timeouts(ctx, "How long to wait until the object is gone, such as `5m`. 2 minutes by default."),
	}
}

// Attributes returns the attributes that the resource and an inline profile have in common.
func Attributes() attribute.Level {
	return attribute.Level{
		"subnet_selector":         attribute.TextMap("Subnets that machines are launched into. By default those with the tag `kubernetes.io/cluster/NAME` of the cluster. " + selectorSyntax),
		"security_group_selector": attribute.TextMap("Security groups of the machines. All that match are attached, of which EC2 allows 5 unless AWS has raised the quota. By default those with the tag `kubernetes.io/cluster/NAME` of the cluster, unless `launch_template` is set. For load balancers of Services, exactly one of the groups may have this tag: if several have it, select one of them by `aws::ids`. " + selectorSyntax),
		"instance_profile": attribute.Text("Name of the IAM instance profile of the nodes. By default the agent's " +
			"`default_instance_profile`."),
		"launch_template": attribute.Text("Name of your own launch template. You cannot combine it with the arguments that a generated " +
			"template would contain: image, user data, security groups, metadata options, volumes, instance store policy and " +
			"instance profile. The agent's IAM policies only allow a template that has the tag `kubernetes.io/cluster/<cluster>` " +
			"set to `owned`, and that gives this tag to `network-interface` in a block `tag_specifications`: the agent's requests cannot " +
			"tag network interfaces. Set `instance_metadata_tags = \"disabled\"` in its `metadata_options`: an account may have another " +
			"default, with which EC2 refuses the agent's tags, because their keys have a slash."),
		"ami_family": attribute.Text("`AL2`, `AL2023`, `Bottlerocket`, `Ubuntu`, `Windows2019`, `Windows2022` or `Custom`. " +
			"By default `AL2023` from Kubernetes 1.30 on, else `AL2`."),
		"ami_selector": attribute.TextMap("Selects the image by tag, `aws::ids`, `aws::name` or `aws::owners`. The newest image that " +
			"matches is used; a deprecated one only if all are deprecated. Nodes with an older image have drifted. Without `aws::ids` and `aws::owners`, only images of this account and of Amazon are found. By default the family's current EKS image. Required with `Custom`."),
		"user_data": attribute.Text("User data, merged with what the family needs: MIME parts for AL2 and Ubuntu, MIME with `NodeConfig` " +
			"for AL2023, TOML for Bottlerocket, PowerShell for Windows. With `Custom` it is used as it is. The fields " +
			"of your own `NodeConfig` replace those that the agent writes. Set `max_pods` and reserved resources in the " +
			"Provisioner's `kubelet_configuration` instead: the agent then knows them before a machine runs. Write labels and " +
			"taints into the Provisioner, too: those that user data gives the kubelet do not reach the node. Nodes have the private DNS " +
			"names of their machines: user data that names them otherwise, for example with `InstanceIdNodeName`, is refused."),
		"tags": attribute.TextMap("Tags of instances, volumes, network interfaces, launch templates and fleets. You may set " +
			"`Name`, but not the keys that the agent uses. At most 43 beside `Name`, less the " +
			"tags of the agent's option `tag`: EC2 allows 50 on a machine, and the agent sets the others."),
		"metadata_options": attribute.Object("The instance metadata service.", metadataAttributes()),
		"block_device_mappings": attribute.Objects("Volumes of the nodes. By default one encrypted `gp3` root volume of 20 GiB "+
			"(Bottlerocket: 4 GiB, and 20 GiB for data; Windows: 50 GiB).", attribute.Level{
			"device_name": attribute.RequiredText("Name of the device, such as `/dev/xvda`."),
			"root_volume": attribute.Flag("Whether it is the root volume."),
			"ebs":         attribute.Object("The EBS volume.", volumeAttributes()),
		}),
		"instance_store_policy": attribute.Text("`RAID0` combines the local NVMe disks into one volume for containers and ephemeral " +
			"storage, with the families `AL2`, `AL2023` and `Bottlerocket`. By default the disks are not used. " +
			"With `Bottlerocket`, what the SOCI snapshotter stores stays on the data volume: to use the disks for it as well, omit this argument and bind all directories in user data."),
		"detailed_monitoring": attribute.Flag("Whether CloudWatch monitors the nodes every minute, which costs extra. Off by default. With `launch_template`, your launch template decides this, and the argument has no effect."),
	}
}

func metadataAttributes() attribute.Level {
	return attribute.Level{
		"http_endpoint":      attribute.Text("`enabled`, the default, or `disabled`."),
		"http_protocol_ipv6": attribute.Text("`enabled` or `disabled`, the default."),
		"http_put_response_hop_limit": attribute.Number("Maximum number of network hops of a response, 1 to 64. 2 by default, so that " +
			"pods without host networking can reach the service."),
		"http_tokens": attribute.Text("`required`, the default, which only allows version 2 of the service, or `optional`."),
	}
}

func volumeAttributes() attribute.Level {
	return attribute.Level{
		"volume_size": attribute.Measure("Size of the volume, such as `100Gi`. Required unless `snapshot_id` is set."),
		"volume_type": attribute.Text("`gp3`, the default, `gp2`, `io1`, `io2`, `sc1`, `st1` or `standard`."),
		"iops":        attribute.Number("Operations per second, for `gp3`, `io1` and `io2`."),
		"throughput":  attribute.Number("Throughput in MiB per second, for `gp3`."),
		"encrypted":   attribute.Flag("Whether the volume is encrypted. On by default."),
		"kms_key_id": attribute.Text("Id or ARN of the KMS key. For a key of your own, the agent's role needs `kms:CreateGrant`, " +
			"`kms:Decrypt`, `kms:DescribeKey`, `kms:GenerateDataKeyWithoutPlaintext` and `kms:ReEncrypt*`."),
		"snapshot_id":           attribute.Text("Id of the snapshot from which the volume is created."),
		"delete_on_termination": attribute.Flag("Whether to delete the volume with the instance. On by default."),
	}
}
