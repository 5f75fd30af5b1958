# node role old-node, as a packhorse_node_role.
# - the resource would attach arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly
# - the resource would make an instance profile
#
# resource "packhorse_node_role" "old-node" {
#   name         = "old-node"
#   access_entry = "EC2_WINDOWS"
# }

# interruption queue interruptions, as a packhorse_interruption_queue.
# - the resource would make the rules interruptions-capacity-reservation, interruptions-health, interruptions-rebalance, interruptions-state
# - the rules Karpenter-spot would stay: delete them once it has its own
# - the resource would replace the queue's policy
#
# resource "packhorse_interruption_queue" "interruptions" {
#   name = "interruptions"
# }

# interruption queue nonprod, as a packhorse_interruption_queue.
# - only its name has that of the cluster in it, and no role that was found may read it: check which cluster it belongs to
#
# resource "packhorse_interruption_queue" "nonprod" {
#   name = "nonprod"
# }

# interruption queue prod-plain, as a packhorse_interruption_queue.
# - the resource would encrypt the queue's messages
# - only its name has that of the cluster in it, and no role that was found may read it: check which cluster it belongs to
#
# resource "packhorse_interruption_queue" "prod-plain" {
#   name = "prod-plain"
# }

# IRSA role barred, as a packhorse_irsa_role.
# - it trusts others than ServiceAccounts, or under other conditions: read trust policy: statement 1 has the effect "Deny"
#
# resource "packhorse_irsa_role" "barred" {
#   name = "barred"
# }

# IRSA role guarded, as a packhorse_irsa_role.
# - it trusts others than ServiceAccounts, or under other conditions: read trust policy: there is a further condition, IpAddress of aws:SourceIp
#
# resource "packhorse_irsa_role" "guarded" {
#   name = "guarded"
# }

# IRSA role shared, as a packhorse_irsa_role.
# - it trusts others than ServiceAccounts, or under other conditions: read trust policy: no condition on the subject of an OIDC token
#
# resource "packhorse_irsa_role" "shared" {
#   name = "shared"
# }

# IRSA role unbound, as a packhorse_irsa_role.
# - the resource would change its trust policy
#
# resource "packhorse_irsa_role" "unbound" {
#   name             = "unbound"
#   service_accounts = [{ name = "writer", namespace = "reports" }]
# }

# managed node group general, as a packhorse_node_profile.
# - set security_group_selector to what finds the security groups of the nodes
# - set instance_profile to a profile of the role arn:aws:iam::123456789012:role/nodes
#
# resource "packhorse_node_profile" "general" {
#   name       = "general"
#   ami_family = "AL2023"
#   block_device_mappings = [
#     {
#       device_name = "/dev/xvda"
#       ebs         = { volume_size = "50Gi", volume_type = "gp3", encrypted = true }
#     },
#   ]
#   subnet_selector = { "aws::ids" = "subnet-1,subnet-2" }
# }

# EC2NodeClass modern, as a packhorse_node_profile.
#
# resource "packhorse_node_profile" "modern" {
#   name                    = "modern"
#   ami_family              = "Bottlerocket"
#   instance_profile        = "machines"
#   metadata_options        = { http_put_response_hop_limit = 1 }
#   security_group_selector = { "karpenter.sh/discovery" = "prod" }
#   subnet_selector         = { "karpenter.sh/discovery" = "prod" }
# }

# Cluster Autoscaler group workers, as a packhorse_node_profile.
# - set subnet_selector to what finds the subnets of the nodes
# - set security_group_selector to what finds the security groups of the nodes
#
# resource "packhorse_node_profile" "workers" {
#   name = "workers"
# }

# managed node group general, as a packhorse_provisioner.
# - the group has 2 to 5 machines, 3 now: a provisioner has no minimum size, its nodes come and go with the pods
# - pods that cluster-autoscaler.kubernetes.io/safe-to-evict "false" has kept in place need the annotation karpenter.sh/do-not-disrupt "true"
# - the label kubernetes.io/role cannot be set: it is in the reserved domain kubernetes.io
#
# resource "packhorse_provisioner" "general" {
#   name          = "general"
#   consolidation = { enabled = true }
#   labels        = { team = "a" }
#   limits        = { cpu = "10" }
#   provider_ref  = { name = packhorse_node_profile.general.name }
#   requirements = [
#     { key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.large"] },
#     { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
#     { key = "kubernetes.io/arch", operator = "In", values = ["amd64"] },
#   ]
# }

# NodePool modern, as a packhorse_provisioner.
#
# resource "packhorse_provisioner" "modern" {
#   name                  = "modern"
#   consolidation         = { enabled = true }
#   disruption            = { budgets = [{ nodes = "10%" }], consolidate_after = "1m" }
#   kubelet_configuration = { max_pods = 30 }
#   provider_ref          = { name = packhorse_node_profile.modern.name }
#   requirements = [
#     {
#       key        = "karpenter.k8s.aws/instance-category"
#       operator   = "In"
#       values     = ["c", "m"]
#       min_values = 2
#     },
#     { key = "kubernetes.io/arch", operator = "In", values = ["amd64", "arm64"] },
#     { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
#   ]
#   ttl_seconds_until_expired = 2592000
# }

# NodePool older, as a packhorse_provisioner.
#
# resource "packhorse_provisioner" "older" {
#   name                  = "older"
#   disruption            = { budgets = [{ nodes = "10%" }] }
#   kubelet_configuration = { max_pods = 30 }
#   provider_ref          = { name = packhorse_node_profile.modern.name }
#   requirements = [
#     { key = "kubernetes.io/arch", operator = "In", values = ["arm64"] },
#     { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
#     { key = "karpenter.k8s.aws/instance-category", operator = "Exists" },
#   ]
#   ttl_seconds_after_empty   = 30
#   ttl_seconds_until_expired = 604800
# }

# Cluster Autoscaler group workers, as a packhorse_provisioner.
# - the group has 0 to 10 machines, 0 now: a provisioner has no minimum size, its nodes come and go with the pods
# - pods that cluster-autoscaler.kubernetes.io/safe-to-evict "false" has kept in place need the annotation karpenter.sh/do-not-disrupt "true"
#
# resource "packhorse_provisioner" "workers" {
#   name          = "workers"
#   consolidation = { enabled = true }
#   limits        = { cpu = "40" }
#   provider_ref  = { name = packhorse_node_profile.workers.name }
#   requirements = [
#     {
#       key      = "node.kubernetes.io/instance-type"
#       operator = "In"
#       values   = ["c5.large", "c5.xlarge"]
#     },
#     { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
#     { key = "topology.kubernetes.io/zone", operator = "In", values = ["eu-west-1a"] },
#   ]
#   taints = [{ key = "batch", effect = "NoSchedule" }]
# }
