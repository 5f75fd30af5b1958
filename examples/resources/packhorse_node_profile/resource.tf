resource "packhorse_node_profile" "default" {
  name             = "default"
  ami_family       = "AL2023"
  instance_profile = "prod-node"

  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  security_group_selector = { "karpenter.sh/discovery" = "prod" }

  block_device_mappings = [{
    device_name = "/dev/xvda"
    root_volume = true
    ebs = {
      volume_size = "50Gi"
      volume_type = "gp3"
      encrypted   = true
    }
  }]

  tags = { team = "platform" }
}
