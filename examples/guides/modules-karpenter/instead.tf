# Terraform forgets the module's objects in AWS and keeps them.
removed {
  from = module.karpenter

  lifecycle {
    destroy = false
  }
}

import {
  to = packhorse_node_role.nodes
  id = "Karpenter-prod-20260301120000000000000001"
}

resource "packhorse_node_role" "nodes" {
  name             = "Karpenter-prod-20260301120000000000000001"
  instance_profile = "Karpenter-prod-20260301120000000000000002"
}

import {
  to = packhorse_interruption_queue.prod
  id = "Karpenter-prod"
}

resource "packhorse_interruption_queue" "prod" {
  name = "Karpenter-prod"
}
