resource "packhorse_provisioner" "default" {
  name         = "default"
  provider_ref = { name = packhorse_node_profile.default.name }

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64", "arm64"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
  ]

  labels = { "example.com/team" = "platform" }
  limits = { cpu = "1000", memory = "4000Gi" }

  consolidation             = { enabled = true }
  ttl_seconds_until_expired = 30 * 24 * 60 * 60

  disruption = {
    budgets = [
      { nodes = "10%" },
      { nodes = "0", schedule = "0 9 * * mon-fri", duration = "8h" },
    ]
    # A PodDisruptionBudget holds up a drain for this time at most.
    termination_grace_period = "30m"
  }

  timeouts {
    delete = "45m"
  }
}

# How nodes are built.
resource "packhorse_node_profile" "default" {
  name                    = "default"
  instance_profile        = "prod-node"
  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  security_group_selector = { "karpenter.sh/discovery" = "prod" }
}
