import {
  to = packhorse_node_role.nodes
  identity = {
    name = "prod-node"
  }
}
