import {
  to = packhorse_provisioner.default
  id = "default"
}
