data "packhorse_cluster" "this" {}

# For policies that trust the cluster's ServiceAccounts.
output "oidc_provider_arn" {
  value = data.packhorse_cluster.this.oidc_provider_arn
}
