# By the name of the IAM role.
terraform import packhorse_node_role.nodes prod-node
