# By the namespace and the name of the agent's Deployment, whether Helm, plain
# manifests or another configuration have installed it.
terraform import packhorse_agent.main packhorse/packhorse-agent
