import {
  to = packhorse_node_role.prod-node
  id = "prod-node"
}

resource "packhorse_node_role" "prod-node" {
  name             = "prod-node"
  cni_policy       = false
  instance_profile = "machines"
  policies         = { read = jsonencode({ Statement = [], Version = "2012-10-17" }) }
  policy_arns      = ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]
  tags             = { team = "a" }
}
