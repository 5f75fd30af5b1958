// Command terraform-provider-packhorse is the Terraform provider packhorse. It
// is started by Terraform.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/platform"
)

// version is set by the release build.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "let a debugger attach to the provider")
	flag.Parse()
	err := providerserver.Serve(context.Background(), provider.New(version, platform.Connect), providerserver.ServeOpts{
		Address: "registry.terraform.io/packhorse/packhorse",
		Debug:   *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
