import {
  to = packhorse_node_profile.default
  id = "default"
}

resource "packhorse_node_profile" "default" {
  name       = "default"
  ami_family = "AL2023"
  block_device_mappings = [
    {
      device_name = "/dev/xvda"
      ebs = {
        volume_size = "50Gi"
        volume_type = "gp3"
        iops        = 3000
        throughput  = 125
        encrypted   = true
      }
    },
  ]
  instance_profile        = "packhorse-node"
  security_group_selector = { "karpenter.sh/discovery" = "prod" }
  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  tags                    = { Name = "node", "cost/center" = "42" }
  user_data               = <<EOT
#!/bin/bash
echo "$${HOSTNAME}" >> /etc/motd
echo ready
EOT
}
