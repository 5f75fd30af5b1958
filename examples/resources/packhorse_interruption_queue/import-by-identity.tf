import {
  to = packhorse_interruption_queue.prod
  identity = {
    name = "prod-interruptions"
  }
}
