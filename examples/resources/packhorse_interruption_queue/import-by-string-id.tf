import {
  to = packhorse_interruption_queue.prod
  id = "prod-interruptions"
}
