// Command provider-schema prints the provider's schema as JSON, in the form of
// `terraform providers schema -json`. The documentation is generated from it.
package main

import (
	"context"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/schemajson"
	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/platform"
)

func main() {
	server := providerserver.NewProtocol6(provider.New("docs", platform.Connect)())()
	if err := schemajson.Write(context.Background(), os.Stdout, "packhorse", server); err != nil {
		log.Fatal(err)
	}
}
