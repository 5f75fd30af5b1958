package sandbox_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// testWebIdentity does what IRSA does: the issuer is made known to IAM, a role
// trusts one ServiceAccount, and its token buys the role's credentials.
func (a *account) testWebIdentity(t *testing.T) {
	issuer := strings.TrimPrefix(a.Host, "https://")
	provider, err := iam.NewFromConfig(a.aws).CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(a.Host), ClientIDList: []string{"sts.amazonaws.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	role, err := iam.NewFromConfig(a.aws).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("trusting"),
		AssumeRolePolicyDocument: aws.String(fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow",
			"Principal":{"Federated":%q},"Action":"sts:AssumeRoleWithWebIdentity",
			"Condition":{"StringEquals":{"%s:sub":"system:serviceaccount:default:trusted","%s:aud":"sts.amazonaws.com"}}}]}`,
			*provider.OpenIDConnectProviderArn, issuer, issuer)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"trusted": "", "other": "AccessDenied"} {
		output, err := sts.New(sts.Options{Region: a.Region, BaseEndpoint: &a.AWSEndpoint}).AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
			RoleArn: role.Role.Arn, RoleSessionName: aws.String("test"), WebIdentityToken: aws.String(a.token(t, name)),
		})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want == "" && !strings.Contains(*output.AssumedRoleUser.Arn, "assumed-role/trusting/test"):
			t.Errorf("%s: assumed %s, want role trusting", name, *output.AssumedRoleUser.Arn)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error = %v, want %s", name, err, want)
		}
	}
}

// token returns a token for AWS of a new ServiceAccount.
func (a *account) token(t *testing.T, serviceAccount string) string {
	t.Helper()
	accounts := a.kube.CoreV1().ServiceAccounts("default")
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: serviceAccount}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), serviceAccount, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"sts.amazonaws.com"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// testEKSToken reaches the API server as `aws eks get-token` users do.
func (a *account) testEKSToken(t *testing.T) {
	for cluster, valid := range map[string]bool{a.ClusterName: true, "another-cluster": false} {
		config := rest.AnonymousClientConfig(a.RESTConfig())
		config.BearerToken = a.eksToken(t, cluster)
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}},
		}, metav1.CreateOptions{})
		if !valid {
			if !apierrors.IsUnauthorized(err) {
				t.Errorf("token for %s: error = %v, want 401", cluster, err)
			}
			continue
		}
		if err != nil || !review.Status.Allowed {
			t.Errorf("token for %s: allowed = %v, %v, want everything allowed", cluster, review, err)
		}
	}
}

// eksToken makes a bearer token: a presigned GetCallerIdentity that names the
// cluster in a signed header.
func (a *account) eksToken(t *testing.T, cluster string) string {
	t.Helper()
	presigner := sts.NewPresignClient(sts.NewFromConfig(a.aws))
	request, err := presigner.PresignGetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}, func(o *sts.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, sts.WithAPIOptions(
			smithyhttp.SetHeaderValue("x-k8s-aws-id", cluster),
			smithyhttp.SetHeaderValue("X-Amz-Expires", "60"),
		))
	})
	if err != nil {
		t.Fatal(err)
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(request.URL))
}
