import {
  to = packhorse_irsa_role.agent
  id = "prod-packhorse-agent"
}
