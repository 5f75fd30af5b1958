package provider_test

import (
	"fmt"
	"testing"
)

// awsConfigurations are the resources in AWS with as few and with as many
// arguments as can be.
const awsConfigurations = `
resource "packhorse_node_role" "least" {
  name = "generated-least"
}

resource "packhorse_node_role" "most" {
  name                 = "generated-most"
  path                 = "/nodes/"
  description          = "machines"
  permissions_boundary = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  cni_policy           = false
  policy_arns          = ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]
  policies             = { logs = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "logs:*", Resource = "*" }] }) }
  instance_profile     = "generated-profile"
  access_entry         = "EC2_WINDOWS"
  tags                 = { team = "platform" }
}

resource "packhorse_interruption_queue" "least" {
  name = "generated-least"
}

resource "packhorse_interruption_queue" "most" {
  name                       = "generated-most"
  message_retention_seconds  = 600
  visibility_timeout_seconds = 60
  kms_key_id                 = "alias/queues"
  tags                       = { team = "platform" }
}

resource "packhorse_irsa_role" "least" {
  name                 = "generated-irsa-least"
  create_oidc_provider = true
  service_accounts     = [{ namespace = "a", name = "b" }]
}

resource "packhorse_irsa_role" "most" {
  name                 = "generated-irsa-most"
  depends_on           = [packhorse_irsa_role.least] # which makes the OIDC provider
  path                 = "/apps/"
  description          = "writes"
  max_session_duration = 7200
  permissions_boundary = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  service_accounts     = [{ namespace = "a", name = "b" }, { namespace = "c", name = "d" }]
  policy_arns          = ["arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"]
  policies             = { write = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "s3:PutObject", Resource = "*" }] }) }
  tags                 = { team = "platform" }
}

resource "packhorse_irsa_role" "agent" {
  name                   = "generated-irsa-agent"
  depends_on             = [packhorse_irsa_role.least]
  service_accounts       = [{ namespace = "packhorse", name = "packhorse-agent" }]
  preset                 = "agent"
  node_roles             = ["generated-least"]
  interruption_queue_arn = "arn:aws:sqs:eu-west-1:123456789012:generated-least"
  node_pools             = true
}
`

// Whatever exists in AWS can be imported with a configuration that Terraform
// writes, and the plan of that shows nothing but the imports.
func TestGeneratedConfigurationsOfAWSResourcesPlanEmpty(t *testing.T) {
	made := newCLI(t, nil)
	made.write(t, map[string]string{"versions.tf": requiring(), "main.tf": awsConfigurations})
	made.run(t, "init")
	made.run(t, "apply", "-auto-approve")
	defer made.run(t, "destroy", "-auto-approve")
	wantNoChange(t, "the plan after the apply", made.plan(t))

	written, blocks := newCLI(t, nil), ""
	for _, one := range []struct{ address, id string }{
		{"packhorse_node_role.least", "generated-least"},
		{"packhorse_node_role.most", "generated-most"},
		{"packhorse_interruption_queue.least", "generated-least"},
		{"packhorse_interruption_queue.most", "generated-most"},
		{"packhorse_irsa_role.least", "generated-irsa-least"},
		{"packhorse_irsa_role.most", "generated-irsa-most"},
		{"packhorse_irsa_role.agent", "generated-irsa-agent"},
	} {
		blocks += fmt.Sprintf("import {\n to = %s\n id = %q\n}\n", one.address, one.id)
	}
	written.write(t, map[string]string{"versions.tf": requiring(), "imports.tf": blocks})
	written.run(t, "init")
	changes := written.plan(t, "-generate-config-out=generated.tf")
	wantNoChange(t, "the plan of the imports", changes)
	if len(changes) != 7 {
		t.Errorf("%d resources are planned, want 7 imports", len(changes))
	}
	for _, ch := range changes {
		if ch.Change.Importing == nil {
			t.Errorf("%s is not imported", ch.Address)
		}
	}
}
