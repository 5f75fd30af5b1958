data "packhorse_cluster" "this" {}

# Whatever needs to trust the cluster's ServiceAccounts.
output "oidc_provider_arn" {
  value = data.packhorse_cluster.this.oidc_provider_arn
}
