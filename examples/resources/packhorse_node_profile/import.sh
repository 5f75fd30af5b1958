# By the name of the AWSNodeTemplate.
terraform import packhorse_node_profile.default default
