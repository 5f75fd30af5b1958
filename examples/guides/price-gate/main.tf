locals {
  general = {
    name = "general"
    requirements = [
      { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
    ]
  }
}

resource "packhorse_provisioner" "general" {
  name         = local.general.name
  requirements = local.general.requirements
}

data "packhorse_simulation" "release" {
  manifests    = [file("deployment.yaml")]
  provisioners = [local.general]

  lifecycle {
    postcondition {
      condition     = length(self.unplaced) == 0 && self.monthly_price < 1000
      error_message = "${length(self.unplaced)} pods have no place; ${self.monthly_price} dollars a month."
    }
  }
}
