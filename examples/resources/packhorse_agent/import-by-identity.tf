import {
  to = packhorse_agent.main
  identity = {
    namespace = "packhorse"
    name      = "packhorse-agent"
  }
}
