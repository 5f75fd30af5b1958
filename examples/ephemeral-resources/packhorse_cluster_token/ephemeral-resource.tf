data "packhorse_cluster" "this" {}

ephemeral "packhorse_cluster_token" "this" {}

# Another provider reaches the same cluster, without the aws command and with
# nothing in the state.
provider "packhorse" {
  alias = "by_token"
  kubernetes = {
    host                   = data.packhorse_cluster.this.endpoint
    cluster_ca_certificate = data.packhorse_cluster.this.certificate_authority
    token                  = ephemeral.packhorse_cluster_token.this.token
  }
}
