# An EKS cluster by its name. A token is minted in process for each request.
provider "packhorse" {
  cluster_name = "prod"
  region       = "eu-west-1"

  default_tags = { team = "platform" }
}

# Any cluster, by its address and a program that prints credentials.
provider "packhorse" {
  alias = "staging"

  kubernetes = {
    host                   = module.staging.endpoint
    cluster_ca_certificate = base64decode(module.staging.certificate_authority)
    exec = {
      api_version = "client.authentication.k8s.io/v1"
      command     = "get-token"
      args        = ["--cluster", "staging"]
    }
  }
}
