data "packhorse_cluster" "this" {}

# For a role that another provider manages.
output "trust_policy" {
  value = provider::packhorse::trust_policy(data.packhorse_cluster.this.oidc_provider_arn, "reports/writer", "reports/reader")
}
