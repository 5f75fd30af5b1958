// Command terraform-provider-packhorse is the Terraform provider packhorse. Terraform starts it.
package main

import (
	"flag"
	"log"
	"os"
	"runtime/debug"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/terraform-provider-packhorse/platform"
)

// version is set by the release build.
var version = "dev"

// gcPercent lets the heap grow to five times its live data before a garbage collection. The
// program runs for seconds, and with Go's default, garbage collection took a fifth of them.
const gcPercent = 400

func main() {
	attach := flag.Bool("debug", false, "let a debugger attach to the provider")
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if !*attach {
		disableTrace()
	}
	var opts []tf6server.ServeOpt
	if *attach {
		opts = append(opts, tf6server.WithManagedDebug())
	}
	if err := tf6server.Serve("registry.terraform.io/packhorse/packhorse", provider.NewServer(version, platform.Connect), opts...); err != nil {
		log.Fatal(err)
	}
}

// disableTrace turns off the plugin framework's log unless Terraform shows logs. The framework
// writes it at trace level in any case, and formatting it here and parsing it in Terraform took
// more than a third of a plan's CPU time.
func disableTrace() {
	for _, wanted := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_SDK"} {
		if os.Getenv(wanted) != "" {
			return
		}
	}
	for _, logger := range []string{"TF_LOG_SDK", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_PROTO"} {
		_ = os.Setenv(logger, "OFF") // fails only for malformed names
	}
}
