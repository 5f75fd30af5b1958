import {
  to = packhorse_node_role.nodes
  id = "prod-node"
}
