import {
  to = packhorse_node_role.prod-node
  id = "prod-node"
}

resource "packhorse_node_role" "prod-node" {
  name             = "prod-node"
  cni_policy       = false
  policy_arns      = ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]
  policies         = { read = jsonencode({ Statement = [], Version = "2012-10-17" }) }
  instance_profile = "machines"
  tags             = { team = "a" }
}
