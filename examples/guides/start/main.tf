# The roles and the queue that the nodes and the agent need in AWS.
resource "packhorse_node_role" "nodes" {
  name = "prod-node"
}

resource "packhorse_interruption_queue" "prod" {
  name = "prod-interruptions"
}

resource "packhorse_irsa_role" "agent" {
  name                   = "prod-packhorse-agent"
  preset                 = "agent"
  node_roles             = [packhorse_node_role.nodes.arn]
  interruption_queue_arn = packhorse_interruption_queue.prod.arn
  create_oidc_provider   = true # if the cluster's issuer has none yet
  service_accounts       = [{ namespace = "packhorse", name = "packhorse-agent" }]
}

# The agent, with the CRDs of the resources below. Terraform destroys it last,
# because it drains the nodes.
resource "packhorse_agent" "main" {
  role_arn           = packhorse_irsa_role.agent.arn
  interruption_queue = packhorse_interruption_queue.prod.name
}

# How nodes are built, and which nodes may be bought.
resource "packhorse_node_profile" "default" {
  name                    = "default"
  instance_profile        = packhorse_node_role.nodes.instance_profile
  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  security_group_selector = { "karpenter.sh/discovery" = "prod" }

  depends_on = [packhorse_agent.main]
}

resource "packhorse_provisioner" "default" {
  name                    = "default"
  provider_ref            = { name = packhorse_node_profile.default.name }
  limits                  = { cpu = "100" }
  ttl_seconds_after_empty = 60
  disruption              = { termination_grace_period = "30m" } # a drain takes no longer
}
