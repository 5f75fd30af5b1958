# The cluster is found by its name. AWS credentials, and endpoints other than
# the usual ones, come from the environment.
provider "packhorse" {
  cluster_name = var.cluster_name
  region       = var.region
}

# How nodes are built.
resource "packhorse_node_profile" "default" {
  name             = "default"
  instance_profile = var.node_role

  subnet_selector         = { "karpenter.sh/discovery" = var.cluster_name }
  security_group_selector = { "karpenter.sh/discovery" = var.cluster_name }

  tags = { Name = "${var.cluster_name}-node" }
}

# Which machines may be bought for ordinary pods, and when they go.
resource "packhorse_provisioner" "default" {
  name         = "default"
  provider_ref = { name = packhorse_node_profile.default.name }

  requirements = [
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64", "arm64"] },
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
  ]

  limits = {
    cpu    = "200"
    memory = "800Gi"
  }

  ttl_seconds_after_empty = var.seconds_after_empty

  # On destroy the agent drains the nodes, for which it needs its role.
  depends_on = [packhorse_irsa_role.agent]
}

# Spot machines, for pods that tolerate interruptions.
resource "packhorse_provisioner" "batch" {
  name         = "batch"
  provider_ref = { name = packhorse_node_profile.default.name }

  taints = [{ key = "dedicated", value = "batch", effect = "NoSchedule" }]

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] },
  ]

  limits = { cpu = "100" }

  ttl_seconds_after_empty = var.seconds_after_empty

  # On destroy the agent drains the nodes, for which it needs its role.
  depends_on = [packhorse_irsa_role.agent]
}

# The IAM role of the agent, which only its ServiceAccount can assume.
resource "packhorse_irsa_role" "agent" {
  name                 = "${var.cluster_name}-packhorse-agent"
  preset               = "agent"
  node_roles           = [var.node_role]
  node_pools           = true
  create_oidc_provider = true

  service_accounts = [{ namespace = "packhorse", name = "packhorse-agent" }]
}
