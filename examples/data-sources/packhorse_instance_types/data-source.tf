# Which machines would these requirements allow, and at which price?
data "packhorse_instance_types" "graviton" {
  requirements = [
    { key = "kubernetes.io/arch", operator = "In", values = ["arm64"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["m"] },
    { key = "karpenter.k8s.aws/instance-cpu", operator = "Lte", values = ["4"] },
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
  ]
}

output "hourly_prices" {
  value = { for t in data.packhorse_instance_types.graviton.instance_types : t.name => t.hourly_price }
}
