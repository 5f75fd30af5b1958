data "packhorse_discovery" "this" {}

# Fields without a counterpart, and objects that cannot be imported.
output "notes" {
  value = { for i in data.packhorse_discovery.this.items : "${i.kind} ${i.name}" => i.notes if length(i.notes) > 0 }
}

# With Terraform 1.7 and later the ids feed import blocks:
#
#   import {
#     for_each = toset(data.packhorse_discovery.this.import_ids.packhorse_node_profile)
#     to       = packhorse_node_profile.adopted[each.key]
#     id       = each.key
#   }
