import {
  to = packhorse_node_profile.default
  identity = {
    name = "default"
  }
}
