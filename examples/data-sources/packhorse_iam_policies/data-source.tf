# The agent's policies, for a role that another provider manages.
data "packhorse_iam_policies" "agent" {
  node_roles = ["arn:aws:iam::123456789012:role/prod-node"]
}

# resource "aws_iam_role_policy" "agent" {
#   for_each = data.packhorse_iam_policies.agent.policies
#   role     = aws_iam_role.agent.name
#   name     = each.key
#   policy   = each.value
# }

output "policy_sizes" {
  value = data.packhorse_iam_policies.agent.sizes
}
