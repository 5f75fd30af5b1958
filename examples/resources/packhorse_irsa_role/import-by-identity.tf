import {
  to = packhorse_irsa_role.agent
  identity = {
    name = "prod-packhorse-agent"
  }
}
