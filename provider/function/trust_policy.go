package function

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// trustPolicy returns the trust policy of a role for ServiceAccounts.
func trustPolicy() function.Function {
	return described{"trust_policy", function.Definition{
		Summary: "Returns the trust policy of an IAM role for ServiceAccounts",
		MarkdownDescription: "Returns a trust policy, as JSON, that lets exactly the given ServiceAccounts of one cluster " +
			"assume a role. It checks the subject and the audience of their tokens.",
		Parameters: []function.Parameter{
			function.StringParameter{
				Name: "oidc_provider_arn", MarkdownDescription: "ARN of the IAM OIDC provider of the cluster's issuer, as `packhorse_cluster` and `aws_iam_openid_connect_provider` return it.",
			},
		},
		VariadicParameter: function.StringParameter{
			Name: "service_accounts", MarkdownDescription: "The ServiceAccounts, each as `namespace/name`.",
		},
		Return: function.StringReturn{},
	}, runTrustPolicy}
}

func runTrustPolicy(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var provider string
	var accounts []string
	if resp.Error = req.Arguments.Get(ctx, &provider, &accounts); resp.Error != nil {
		return
	}
	_, issuer, found := strings.Cut(provider, ":oidc-provider/")
	if !found || !policy.ProviderForm.Fits(provider) {
		resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("%q is not the ARN of an IAM OIDC provider, such as arn:aws:iam::ACCOUNT:oidc-provider/ISSUER", provider))
		return
	}
	trust := policy.Trust{Provider: provider, Issuer: issuer}
	for i, account := range accounts {
		namespace, name, _ := strings.Cut(account, "/")
		if namespace == "" || name == "" || strings.Contains(name, "/") || strings.ContainsAny(account, "*?") {
			resp.Error = function.NewArgumentFuncError(int64(i+1), fmt.Sprintf("%q is not a ServiceAccount: write namespace/name", account))
			return
		}
		trust.Accounts = append(trust.Accounts, policy.ServiceAccount{Namespace: namespace, Name: name})
	}
	if len(accounts) == 0 {
		resp.Error = function.NewArgumentFuncError(1, "name at least one ServiceAccount as namespace/name: without one, any workload of the cluster could assume the role")
		return
	}
	text, err := trust.JSON()
	if err != nil {
		resp.Error = function.NewFuncError(err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, text)
}
