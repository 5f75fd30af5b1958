list "packhorse_provisioner" "all" {
  provider = packhorse
}
