# { category = "m", family = "m7g", generation = 7, size = "large" }
output "parts" {
  value = provider::packhorse::instance_type_parts("m7g.large")
}
