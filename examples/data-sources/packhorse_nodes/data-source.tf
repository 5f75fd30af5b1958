data "packhorse_nodes" "all" {}

output "hourly_price" {
  value = data.packhorse_nodes.all.hourly_price
}

output "spot_nodes" {
  value = [for n in data.packhorse_nodes.all.nodes : n.name if n.capacity_type == "spot"]
}
