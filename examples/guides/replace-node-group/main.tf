# What the machines of the node group are built from.
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

# The node group had m5.large machines, 2 to 10 of them. A provisioner has no
# least number, and buys whatever is cheapest for the pods at hand.
resource "packhorse_provisioner" "general" {
  name         = "general"
  provider_ref = { name = packhorse_node_profile.general.name }

  labels = { team = "platform" }

  requirements = [
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["m"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
  ]

  limits        = { cpu = 20 }
  consolidation = { enabled = true }
}

# What would the cluster's pods that wait now get?
data "packhorse_simulation" "now" {
  live         = true
  provisioners = [packhorse_provisioner.general]

  node_profiles = [packhorse_node_profile.general]
}

output "machines" {
  value = [for m in data.packhorse_simulation.now.machines : "${m.instance_type} in ${m.zone}"]
}
