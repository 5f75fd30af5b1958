terraform {
  required_version = ">= 1.8"
  required_providers {
    packhorse = { source = "packhorse/packhorse" }
  }
}

provider "packhorse" {
  cluster_name = "prod"
  region       = "eu-west-1"
}
