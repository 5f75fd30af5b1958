terraform {
  required_version = ">= 1.8"

  required_providers {
    packhorse = {
      source = "packhorse/packhorse"
    }
  }
}
