# By the name of the IAM role.
terraform import packhorse_irsa_role.agent prod-packhorse-agent
