# The queue from which the agent reads interruption events, with the rules that fill it.
resource "packhorse_interruption_queue" "prod" {
  name = "prod-interruptions"
}

# The agent may read this queue.
resource "packhorse_irsa_role" "agent" {
  name                   = "prod-packhorse-agent"
  preset                 = "agent"
  node_roles             = ["prod-node"]
  interruption_queue_arn = packhorse_interruption_queue.prod.arn

  create_oidc_provider = true
  service_accounts     = [{ namespace = "packhorse", name = "packhorse-agent" }]
}
