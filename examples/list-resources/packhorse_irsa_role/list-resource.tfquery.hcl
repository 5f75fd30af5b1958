list "packhorse_irsa_role" "all" {
  provider = packhorse
}
