// Package cloudtest serves modelled AWS accounts to tests.
package cloudtest

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sts:AssumeRole"}]}`

// Account is an account that is served until the test ends.
type Account struct {
	*cloud.Cloud
	Config aws.Config // of an administrator's clients
}

// Start serves an account with the cluster "prod" that sells all instance types.
func Start(t *testing.T) *Account {
	t.Helper()
	return Serve(t, cloud.Config{Catalogue: offer.EmbeddedCSV(), Cluster: cloud.Cluster{Name: "prod"}})
}

// Serve serves an account in eu-west-1.
func Serve(t *testing.T, config cloud.Config) *Account {
	t.Helper()
	account, err := cloud.New(config)
	must(t, err)
	server := httptest.NewServer(account.Handler())
	t.Cleanup(server.Close)
	account.SetEndpoint(server.URL)
	key, secret := account.AdminCredentials()
	return &Account{account, aws.Config{
		Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
		HTTPClient: connect.WithMemoryBodies(nil),
	}}
}

// Without is the configuration of clients that may do everything but one action.
func (a *Account) Without(t *testing.T, action string) aws.Config {
	t.Helper()
	return a.As(t, "without-"+strings.ReplaceAll(action, ":", "-"), map[string]string{
		"most": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","NotAction":"` + action + `","Resource":"*"}]}`,
	})
}

// As is the configuration of clients with a new role that has the policies, by name.
func (a *Account) As(t *testing.T, role string, documents map[string]string) aws.Config {
	t.Helper()
	roles := iam.NewFromConfig(a.Config)
	created, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: aws.String(trust)})
	must(t, err)
	for name, document := range documents {
		_, err := roles.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &role, PolicyName: &name, PolicyDocument: &document})
		must(t, err)
	}
	session, err := sts.NewFromConfig(a.Config).AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: created.Role.Arn, RoleSessionName: &role})
	must(t, err)
	config, c := a.Config.Copy(), session.Credentials
	config.Credentials = credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)
	return config
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
