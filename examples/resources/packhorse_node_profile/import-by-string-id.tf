import {
  to = packhorse_node_profile.default
  id = "default"
}
