package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// podRoleConfig is a role without an OIDC provider.
func podRoleConfig(name, arguments string) string {
	return byName() + fmt.Sprintf("resource \"packhorse_irsa_role\" \"test\" {\n  name = %q\n%s\n}\n", name, arguments)
}

// podRole returns the role that pods of a ServiceAccount get by pod identity, and
// the association's id; both are empty without one.
func podRole(namespace, name string) (role, id string, err error) {
	cluster := aws.String(box.ClusterName)
	list, err := access.ListPodIdentityAssociations(context.Background(), &eks.ListPodIdentityAssociationsInput{
		ClusterName: cluster, Namespace: &namespace, ServiceAccount: &name,
	})
	if err != nil || len(list.Associations) == 0 {
		return "", "", err
	}
	id = *list.Associations[0].AssociationId
	out, err := access.DescribePodIdentityAssociation(context.Background(), &eks.DescribePodIdentityAssociationInput{ClusterName: cluster, AssociationId: &id})
	if err != nil {
		return "", "", err
	}
	return *out.Association.RoleArn, id, nil
}

// podsGet checks which role pods of a ServiceAccount get by pod identity.
func podsGet(namespace, name, want string) error {
	got, _, err := podRole(namespace, name)
	if err == nil && got != want {
		err = fmt.Errorf("pods of %s/%s get %q by pod identity, want %q", namespace, name, got, want)
	}
	return err
}

func TestIRSARoleByPodIdentity(t *testing.T) {
	name, arn := "pods", "arn:aws:iam::123456789012:role/pods"
	two := `service_accounts = [{ namespace = "a", name = "one" }, { namespace = "b", name = "two" }]` + "\n"
	updates := resource.ConfigPlanChecks{
		PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(roleAddress, plancheck.ResourceActionUpdate)},
		PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
	}
	both := func(one, two string) func(*terraform.State) error {
		return func(*terraform.State) error { return errors.Join(podsGet("a", "one", one), podsGet("b", "two", two)) }
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             resource.ComposeTestCheckFunc(noRole(name), both("", "")),
		Steps: []resource.TestStep{
			{
				Config: podRoleConfig(name, two+`identity = "pod-identity"`), ConfigPlanChecks: plansEmpty, Check: both(arn, arn),
				ConfigStateChecks: []statecheck.StateCheck{
					roleState("oidc_provider_arn", knownvalue.Null()), roleState("oidc_issuer_url", knownvalue.Null()),
					roleState("pod_identity_associations", knownvalue.MapSizeExact(2)),
				},
			},
			{ResourceName: roleAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			{
				// Somebody has deleted an association.
				PreConfig: func() {
					_, id, err := podRole("a", "one")
					if err == nil {
						_, err = access.DeletePodIdentityAssociation(t.Context(), &eks.DeletePodIdentityAssociationInput{ClusterName: aws.String(box.ClusterName), AssociationId: &id})
					}
					if err != nil {
						t.Fatal(err)
					}
				},
				Config: podRoleConfig(name, two+`identity = "pod-identity"`), ConfigPlanChecks: updates, Check: both(arn, arn),
			},
			{
				Config:           podRoleConfig(name, `service_accounts = [{ namespace = "b", name = "two" }]`+"\nidentity = \"both\"\ncreate_oidc_provider = true\n tags = { team = \"a\" }"),
				ConfigPlanChecks: updates, Check: both("", arn),
			},
			{
				Config:           podRoleConfig(name, two+"create_oidc_provider = true"),
				ConfigPlanChecks: updates, Check: both("", ""),
			},
			{Config: podRoleConfig(name, two+`identity = "pod-identity"`), ConfigPlanChecks: updates, Check: both(arn, arn)},
		},
	})
}

// The trust policy changes before the associations. One that could not be deleted is deleted
// by the next apply.
func TestIRSARoleKeepsNoAssociationAfterAFailedUpdate(t *testing.T) {
	name, arn := "half-changed-pods", "arn:aws:iam::123456789012:role/half-changed-pods"
	with := func(accounts string) string {
		return podRoleConfig(name, "identity = \"pod-identity\"\n service_accounts = ["+accounts+"]")
	}
	const one, two = `{ namespace = "d", name = "one" }`, `{ namespace = "d", name = "two" }`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{Config: with(one + ", " + two)},
			{PreConfig: refuseOnce(t, "eks", "DeletePodIdentityAssociation"), Config: with(one), ExpectError: injectedFault},
			{
				Config: with(one), ConfigPlanChecks: plans(roleAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error { return errors.Join(podsGet("d", "one", arn), podsGet("d", "two", "")) },
			},
		},
	})
}

// Pods that get another role keep it.
func TestIRSARoleTakesNoPodsAway(t *testing.T) {
	account := `service_accounts = [{ namespace = "c", name = "taken" }]` + "\n identity = \"pod-identity\"\n"
	first := byName() + "resource \"packhorse_irsa_role\" \"first\" {\n name = \"first\"\n" + account + "}\n"
	second := "resource \"packhorse_irsa_role\" \"second\" {\n name = \"second\"\n" + account + "depends_on = [packhorse_irsa_role.first]\n}\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             resource.ComposeTestCheckFunc(noRole("first"), noRole("second")),
		Steps: []resource.TestStep{
			{Config: first},
			{Config: first + second, ExpectError: words("pods of ServiceAccount c/taken in cluster \"" + box.ClusterName + "\" already get role arn:aws:iam::123456789012:role/first")},
			{Config: first, Check: func(*terraform.State) error { return podsGet("c", "taken", "arn:aws:iam::123456789012:role/first") }},
		},
	})
}

func TestIRSARoleIdentityInvalid(t *testing.T) {
	byPods := agentAccount + "\n identity = \"pod-identity\"\n"
	tests := map[string]struct{ config, want string }{
		"an issuer":       {podRoleConfig("invalid", byPods+`oidc_issuer_url = "https://example.com"`), `oidc_issuer_url: has no effect with identity = "pod-identity"`},
		"an annotation":   {podRoleConfig("invalid", byPods+`annotate_service_account = true`), `annotate_service_account: has no effect`},
		"another word":    {podRoleConfig("invalid", agentAccount+"\n identity = \"irsa\""), `value must be one of: ["oidc" "pod-identity" "both"]`},
		"without cluster": {"provider \"packhorse\" {\n kubernetes = { host = \"" + box.Host + "\", token = \"a\" }\n}\n" + `resource "packhorse_irsa_role" "test" {` + "\n name = \"invalid\"\n" + byPods + "}\n", "identity: no EKS cluster is named"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: tt.config, PlanOnly: true, ExpectError: words(tt.want)}},
			})
		})
	}
}
