# The draft, which the resource and the simulation share. It contains nothing that
# is known only after apply, so that the plan already answers.
locals {
  web = {
    name = "web"

    requirements = [
      { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
      { key = "karpenter.k8s.aws/instance-family", operator = "In", values = ["m5", "m6i", "m6a"] },
    ]
  }
}

resource "packhorse_provisioner" "web" {
  name         = local.web.name
  requirements = local.web.requirements
}

# What would twenty replicas cost on it?
data "packhorse_simulation" "web" {
  provisioners = [local.web]

  manifests = [yamlencode({
    apiVersion = "apps/v1"
    kind       = "Deployment"
    metadata   = { name = "web", namespace = "shop" }
    spec = {
      replicas = 20
      selector = { matchLabels = { app = "web" } }
      template = {
        metadata = { labels = { app = "web" } }
        spec = {
          containers = [{ name = "main", image = "web", resources = { requests = { cpu = "500m", memory = "1Gi" } } }]
        }
      }
    }
  })]

  lifecycle {
    postcondition {
      condition     = length(self.unplaced) == 0
      error_message = "Pods without a place: ${join(", ", self.unplaced[*].reason)}"
    }
    postcondition {
      condition     = self.monthly_price < 1000
      error_message = "It would cost ${self.monthly_price} dollars a month."
    }
  }
}

output "monthly_price" {
  value = data.packhorse_simulation.web.monthly_price
}
