# By the namespace and the name of the agent's Deployment, whether Helm, plain
# manifests or another configuration have installed it. A configuration that
# Terraform writes (-generate-config-out) has `environment = null # sensitive`:
# write the variables there, because an apply of null removes them.
terraform import packhorse_agent.main packhorse/packhorse-agent
