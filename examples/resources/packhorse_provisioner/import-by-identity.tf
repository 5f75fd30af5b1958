import {
  to = packhorse_provisioner.default
  identity = {
    name = "default"
  }
}
