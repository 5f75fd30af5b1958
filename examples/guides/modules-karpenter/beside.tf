# module.eks, module.vpc and module.karpenter are your existing modules, unchanged.
resource "packhorse_irsa_role" "agent" {
  name                   = "${module.eks.cluster_name}-packhorse-agent"
  preset                 = "agent"
  node_roles             = [module.karpenter.node_iam_role_arn]
  interruption_queue_arn = module.karpenter.queue_arn
  service_accounts       = [{ namespace = "packhorse", name = "packhorse-agent" }]
}

resource "packhorse_agent" "main" {
  role_arn           = packhorse_irsa_role.agent.arn
  interruption_queue = module.karpenter.queue_name

  # On destroy, the agent drains nodes: its own node and its route to AWS have to stay until then.
  depends_on = [module.eks, module.vpc]
}

resource "packhorse_node_profile" "default" {
  name                    = "default"
  instance_profile        = module.karpenter.instance_profile_name
  subnet_selector         = { "karpenter.sh/discovery" = module.eks.cluster_name }
  security_group_selector = { "karpenter.sh/discovery" = module.eks.cluster_name }

  depends_on = [packhorse_agent.main]
}
