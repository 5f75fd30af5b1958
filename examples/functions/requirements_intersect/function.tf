locals {
  company = [
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64", "arm64"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
  ]
  team = [
    { key = "kubernetes.io/arch", operator = "In", values = ["arm64"] },
  ]
}

# kubernetes.io/arch In [arm64], and instance-generation Gte [5].
output "requirements" {
  value = provider::packhorse::requirements_intersect(local.company, local.team)
}
