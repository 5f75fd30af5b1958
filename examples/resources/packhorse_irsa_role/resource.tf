# The role of the agent: role_arn of packhorse_agent. With identity = "pod-identity", the agent
# has no role_arn, but depends on its role:
#
#   resource "packhorse_agent" "main" {
#     depends_on = [packhorse_irsa_role.agent]
#   }
resource "packhorse_irsa_role" "agent" {
  name       = "prod-packhorse-agent"
  preset     = "agent"
  node_roles = ["prod-node"]

  # One role per cluster makes the cluster's OIDC provider, if there is none yet.
  create_oidc_provider = true
  service_accounts     = [{ namespace = "packhorse", name = "packhorse-agent" }]
}

# A role for any other workload.
resource "packhorse_irsa_role" "reports" {
  name             = "prod-reports"
  service_accounts = [{ namespace = "reports", name = "writer" }]

  policies = {
    write = jsonencode({
      Version = "2012-10-17"
      Statement = [{
        Effect   = "Allow"
        Action   = "s3:PutObject"
        Resource = "arn:aws:s3:::reports/*"
      }]
    })
  }

  annotate_service_account = true

  depends_on = [packhorse_irsa_role.agent] # which makes the OIDC provider
}

# A role that pods get by EKS pod identity.
resource "packhorse_irsa_role" "exports" {
  name             = "prod-exports"
  identity         = "pod-identity"
  service_accounts = [{ namespace = "reports", name = "exporter" }]
  policy_arns      = ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]
}
