package provider

import "github.com/hashicorp/terraform-plugin-go/tfprotov6"

// Detach takes the plugin framework away from a server: it can only answer by
// itself, and panics otherwise.
func Detach(s tfprotov6.ProviderServer) { s.(*server).framework = nil }
