terraform {
  required_providers {
    packhorse = { source = "packhorse/packhorse" }
  }
}

# An EKS cluster by its name. A token is minted in process for each request, so
# that the aws command is not needed.
provider "packhorse" {
  cluster_name = "prod"
  region       = "eu-west-1"

  default_tags = { team = "platform" }
}
