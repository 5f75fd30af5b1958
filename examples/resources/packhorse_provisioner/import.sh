# By the name of the Provisioner.
terraform import packhorse_provisioner.default default
