# The role of the nodes, with its instance profile and an access entry in the cluster
# of the provider block.
resource "packhorse_node_role" "nodes" {
  name = "prod-node"

  # Shell access to the nodes through AWS Systems Manager.
  policy_arns = ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]
}

# Nodes get the role by its instance profile …
resource "packhorse_node_profile" "default" {
  name             = "default"
  instance_profile = packhorse_node_role.nodes.instance_profile

  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  security_group_selector = { "karpenter.sh/discovery" = "prod" }
}

# … and this is the only role that the agent may pass to nodes.
resource "packhorse_irsa_role" "agent" {
  name       = "prod-packhorse-agent"
  preset     = "agent"
  node_roles = [packhorse_node_role.nodes.arn]

  create_oidc_provider = true
  service_accounts     = [{ namespace = "packhorse", name = "packhorse-agent" }]
}
