// Command provider-schema prints the provider's schema as JSON, in the form of
// `terraform providers schema -json`. The documentation is generated from it. Terraform itself
// cannot be used, because it omits resource identities before 1.12 and list resources before
// 1.14.
package main

import (
	"context"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/terraform-provider-packhorse/platform"
)

func main() {
	server := providerserver.NewProtocol6(provider.New("docs", platform.Connect)())()
	if err := write(context.Background(), os.Stdout, "packhorse", server); err != nil {
		log.Fatal(err)
	}
}
