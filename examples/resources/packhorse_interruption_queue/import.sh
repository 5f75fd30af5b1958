# By the name of the queue.
terraform import packhorse_interruption_queue.prod prod-interruptions
