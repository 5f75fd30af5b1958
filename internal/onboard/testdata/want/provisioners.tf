import {
  to = packhorse_provisioner._2-inline_gpu
  id = "2-inline.gpu"
}

resource "packhorse_provisioner" "_2-inline_gpu" {
  name          = "2-inline.gpu"
  consolidation = { enabled = true }
  node_profile = {
    subnet_selector         = { aws-ids = "subnet-1,subnet-2" }
    security_group_selector = { Name = "*nodes*" }
    instance_profile        = "packhorse-node"
  }
  startup_taints = [{ key = "node.cilium.io/agent-not-ready", value = "true", effect = "NoExecute" }]
  taints         = [{ key = "nvidia.com/gpu", effect = "NoSchedule" }]
  weight         = 10
}

import {
  to = packhorse_provisioner.default
  id = "default"
}

resource "packhorse_provisioner" "default" {
  name = "default"
  kubelet_configuration = {
    system_reserved = { cpu = "100m" }
    eviction_hard   = { "memory.available" = "5%" }
    max_pods        = 50
  }
  labels       = { "example.com/tier" = "general", team = "platform" }
  limits       = { cpu = "1k", memory = "1000Gi", "nvidia.com/gpu" = "4" }
  provider_ref = { name = packhorse_node_profile.default.name }
  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
    { key = "karpenter.k8s.aws/instance-cpu", operator = "Gt", values = ["3"] },
    { key = "example.com/any", operator = "Exists" },
  ]
  ttl_seconds_after_empty   = 30
  ttl_seconds_until_expired = 2592000
}
