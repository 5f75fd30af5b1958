resource "packhorse_agent" "main" {
  # If the role has identity = "pod-identity", write instead:
  # depends_on = [packhorse_irsa_role.agent]
  role_arn           = packhorse_irsa_role.agent.arn
  interruption_queue = packhorse_interruption_queue.main.name

  options       = { "batch-idle" = "500ms", "log-level" = "debug" }
  node_selector = { "eks.amazonaws.com/nodegroup" = "system" }
  tolerations   = [{ key = "dedicated", value = "system", effect = "NoSchedule" }]

  # Nodes are drained before the agent is removed.
  on_destroy = "drain"

  timeouts {
    create = "5m"
    delete = "45m"
  }
}

# What the agent may do in AWS.
resource "packhorse_irsa_role" "agent" {
  name                   = "prod-packhorse-agent"
  preset                 = "agent"
  node_roles             = ["prod-node"]
  interruption_queue_arn = packhorse_interruption_queue.main.arn
  create_oidc_provider   = true
  service_accounts       = [{ namespace = "packhorse", name = "packhorse-agent" }]
}

# Events about interruptions of its machines.
resource "packhorse_interruption_queue" "main" {
  name = "prod-packhorse"
}
