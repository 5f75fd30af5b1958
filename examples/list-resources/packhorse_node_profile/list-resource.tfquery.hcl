list "packhorse_node_profile" "all" {
  provider = packhorse
}
