output "agent_role_arn" {
  description = "ARN of the agent's IAM role."
  value       = packhorse_irsa_role.agent.arn
}

output "what_may_be_bought" {
  description = "All requirements of the default provisioner, with the defaults."
  value       = packhorse_provisioner.default.effective_requirements
}
