// Command terraform-provider-packhorse is the Terraform provider packhorse. It
// is started by Terraform.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"runtime/debug"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/platform"
)

// version is set by the release build.
var version = "dev"

// gcPercent lets the heap grow to some times of what is in use: the program runs
// for seconds, and collecting garbage as often as a server does took a fifth of them.
const gcPercent = 400

func main() {
	attach := flag.Bool("debug", false, "let a debugger attach to the provider")
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	err := providerserver.Serve(context.Background(), provider.New(version, platform.Connect), providerserver.ServeOpts{
		Address: "registry.terraform.io/packhorse/packhorse",
		Debug:   *attach,
	})
	if err != nil {
		log.Fatal(err)
	}
}
