package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The credentials are those of another account or region, where equal names are somebody else's. A plan fails, and
// an apply without a refresh, or of a plan that was made before, changes nothing there.
func TestAnotherAccountIsNotChanged(t *testing.T) {
	const arn = "arn:aws:sqs:eu-west-1:123456789012:block"
	terraform := newCLI(t, nil)
	declare := func(arguments string) {
		terraform.write(t, map[string]string{"main.tf": requiring() + awsResources(arguments)})
	}
	declare("")
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	state := filepath.Join(terraform.dir, "terraform.tfstate")
	raw, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{nodeRoleAddress: "IAM role block", roleAddress: "IAM role block-irsa", queueAddress: "queue block"}
	everything := []string{nodeRoleAddress, roleAddress, queueAddress}
	for other, elsewhere := range map[string]struct {
		is, was string
		refused []string
	}{
		"account 210987654321": {":123456789012:", ":210987654321:", everything},
		"partition aws-cn":     {"arn:aws:", "arn:aws-cn:", everything},
		"region eu-central-1":  {arn, strings.Replace(arn, "eu-west-1", "eu-central-1", 1), everything[2:]},
	} {
		t.Run(other, func(t *testing.T) {
			terraform.write(t, map[string]string{"terraform.tfstate": strings.ReplaceAll(string(raw), elsewhere.is, elsewhere.was)})
			declare("tags = { changed = \"yes\" }")
			refused := func(args ...string) {
				t.Helper()
				said, err := terraform.try(t, args...)
				if err == nil {
					t.Errorf("terraform %s succeeds: %s", args, said)
				}
				for _, address := range elsewhere.refused {
					says(t, said, titles[address]+" is in "+other+", but the provider block leads to")
				}
				says(t, said, "Nothing has been changed.")
			}
			refused("plan")
			refused("destroy", "-auto-approve")
			alone := []string{"-refresh=false"}
			for _, address := range elsewhere.refused {
				alone = append(alone, "-target="+address)
			}
			refused(append([]string{"apply", "-auto-approve"}, alone...)...)
			terraform.run(t, append([]string{"plan", "-destroy", "-out=plan.bin"}, alone...)...)
			refused("apply", "plan.bin")
		})
	}
	terraform.write(t, map[string]string{"terraform.tfstate": string(raw)})
	declare("")
	wantNoChange(t, "the plan with the right credentials", terraform.plan(t))
	terraform.run(t, "destroy", "-auto-approve")
	if err := noneLeft(nil); err != nil {
		t.Error(err)
	}
}
