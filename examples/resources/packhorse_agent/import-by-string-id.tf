import {
  to = packhorse_agent.main
  id = "packhorse/packhorse-agent"
}
