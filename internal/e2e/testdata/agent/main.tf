terraform {
  required_providers {
    packhorse = { source = "packhorse/packhorse" }
  }
}

variable "image" {
  type    = string
  default = null
}

variable "on_destroy" {
  type    = string
  default = null
}

variable "keep_crds" {
  type    = bool
  default = null
}

variable "timeout" {
  type    = string
  default = "4m"
}

provider "packhorse" {
  cluster_name = "packhorse-demo"
  region       = "eu-west-1"
}

resource "packhorse_irsa_role" "agent" {
  name                 = "packhorse-demo-agent"
  preset               = "agent"
  node_roles           = ["packhorse-node"]
  create_oidc_provider = true
  service_accounts     = [{ namespace = "packhorse", name = "packhorse-agent" }]
}

resource "packhorse_agent" "main" {
  role_arn   = packhorse_irsa_role.agent.arn
  image      = var.image
  on_destroy = var.on_destroy
  keep_crds  = var.keep_crds
  memory     = "1024Mi"
  options    = { "log-format" = "text" }

  timeouts {
    create = var.timeout
    update = var.timeout
    delete = var.timeout
  }
}

output "agent" {
  value = jsonencode({
    leader       = packhorse_agent.main.leader
    image        = packhorse_agent.main.image
    image_digest = packhorse_agent.main.image_digest
    crd_versions = packhorse_agent.main.crd_versions
    revision     = packhorse_agent.main.revision
  })
}
