import {
  to = packhorse_node_profile.default
  id = "default"
}

resource "packhorse_node_profile" "default" {
  name                    = "default"
  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  security_group_selector = { "karpenter.sh/discovery" = "prod" }
  instance_profile        = "packhorse-node"
  ami_family              = "AL2023"
  user_data               = <<EOT
#!/bin/bash
echo "$${HOSTNAME}" >> /etc/motd
echo ready
EOT
  tags                    = { Name = "node", "cost/center" = "42" }
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
}
