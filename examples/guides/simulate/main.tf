# The draft: what you are about to create or change.
locals {
  general = {
    name = "general"

    requirements = [
      { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
      { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
      { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    ]
  }

  # The same with Graviton machines, only for comparison.
  graviton = {
    name = "general"
    requirements = concat(local.general.requirements, [
      { key = "kubernetes.io/arch", operator = "In", values = ["arm64"] },
    ])
  }

  workload = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: api, namespace: shop}
    spec:
      replicas: 30
      selector: {matchLabels: {app: api}}
      template:
        metadata: {labels: {app: api}}
        spec:
          containers: [{name: main, image: api, resources: {requests: {cpu: 750m, memory: 1Gi}}}]
  YAML
}

resource "packhorse_provisioner" "general" {
  name         = local.general.name
  requirements = local.general.requirements
}

data "packhorse_simulation" "as_planned" {
  manifests    = [local.workload]
  provisioners = [local.general]
}

data "packhorse_simulation" "graviton" {
  manifests    = [local.workload]
  provisioners = [local.graviton]
}

output "monthly_prices" {
  value = {
    as_planned = data.packhorse_simulation.as_planned.monthly_price
    graviton   = data.packhorse_simulation.graviton.monthly_price
  }
}

output "summary" {
  value = data.packhorse_simulation.as_planned.summary
}
