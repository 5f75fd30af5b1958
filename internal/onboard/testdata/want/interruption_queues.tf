import {
  to = packhorse_interruption_queue.prod
  id = "prod"
}

resource "packhorse_interruption_queue" "prod" {
  name                      = "prod"
  message_retention_seconds = 600
  tags                      = { team = "a" }
}
