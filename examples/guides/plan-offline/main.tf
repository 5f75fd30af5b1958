terraform {
  required_providers {
    packhorse = { source = "packhorse/packhorse" }
  }
}

variable "catalogue_file" {
  type        = string
  description = "What `packhorse-agent catalogue` has printed."
}

# Nothing listens on this address, and the provider does not call AWS.
provider "packhorse" {
  kubernetes     = { host = "https://127.0.0.1:1" }
  region         = "eu-west-1"
  catalogue_file = var.catalogue_file
  plan_checks    = "error"
}

# The draft, which the resource and the simulation share.
locals {
  general = {
    name = "general"

    requirements = [
      { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
      { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
      { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    ]
  }
}

resource "packhorse_provisioner" "general" {
  name         = local.general.name
  requirements = local.general.requirements
}

data "packhorse_simulation" "release" {
  manifests    = [file("${path.module}/deployment.yaml")]
  provisioners = [local.general]

  lifecycle {
    postcondition {
      condition     = length(self.unplaced) == 0 && self.monthly_price < 2000
      error_message = "${length(self.unplaced)} pods have no place; ${self.monthly_price} dollars a month."
    }
  }
}
