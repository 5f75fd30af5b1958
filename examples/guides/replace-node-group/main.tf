# How the nodes of the group are built.
resource "packhorse_node_profile" "general" {
  name             = "general"
  instance_profile = "prod-node"

  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  security_group_selector = { "karpenter.sh/discovery" = "prod" }

  block_device_mappings = [{
    device_name = "/dev/xvda"
    ebs         = { volume_size = "50Gi", volume_type = "gp3", encrypted = true }
  }]
}

# The node group had 2 to 10 m5.large machines. A provisioner has no minimum size,
# and buys whatever is cheapest for the pending pods.
resource "packhorse_provisioner" "general" {
  name         = "general"
  provider_ref = { name = packhorse_node_profile.general.name }

  labels       = { team = "platform" }
  requirements = local.requirements
  limits       = { cpu = 20 }

  ttl_seconds_after_empty = 60
}

locals {
  requirements = [
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["m"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
  ]
}

# What would the cluster's pending pods get? The draft contains nothing that is
# known only after apply, so that the plan already answers.
data "packhorse_simulation" "now" {
  live         = true
  provisioners = [{ name = "general", labels = { team = "platform" }, requirements = local.requirements }]
}

output "machines" {
  value = [for m in data.packhorse_simulation.now.machines : "${m.instance_type} in ${m.zone}"]
}
