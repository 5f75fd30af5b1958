locals {
  replicas = 20
  request  = "1.5Gi"
}

# 30 Gi, in bytes.
output "memory" {
  value = local.replicas * provider::packhorse::parse_quantity(local.request)
}
