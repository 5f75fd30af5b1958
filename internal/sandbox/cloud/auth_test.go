package cloud

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	ec2model "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
)

// as returns clients with a session of a role.
func (f *fixture) as(t *testing.T, roleARN string) *clients {
	t.Helper()
	out := must2(f.sts.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: &roleARN, RoleSessionName: aws.String("tester")}))(t)
	return newClients(f.url, *out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
}

func TestSignatures(t *testing.T) {
	f := start(t)
	must2(f.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("events")}))(t)
	key, secret := f.cloud.AdminCredentials()
	cases := map[string]struct {
		clients                 *clients
		ec2, sts, ssm, eks, sqs string
	}{
		"good":        {newClients(f.url, key, secret, ""), "", "", "", "", ""},
		"unknown key": {newClients(f.url, "AKIAUNKNOWN", secret, ""), "AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "UnrecognizedClientException", "UnrecognizedClientException"},
		"bad secret":  {newClients(f.url, key, "wrong", ""), "AuthFailure", "SignatureDoesNotMatch", "InvalidSignatureException", "InvalidSignatureException", "InvalidSignatureException"},
		"bad token":   {newClients(f.url, key, secret, "token"), "AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "UnrecognizedClientException", "UnrecognizedClientException"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tc.clients.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
			wantCode(t, err, tc.ec2)
			_, err = tc.clients.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			wantCode(t, err, tc.sts)
			_, err = tc.clients.ssm.GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{"/none"}})
			wantCode(t, err, tc.ssm)
			_, err = tc.clients.eks.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String("arn:aws:iam::123456789012:role/packhorse-node")})
			wantCode(t, err, tc.eks)
			_, err = tc.clients.sqs.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("events")})
			wantCode(t, err, tc.sqs)
		})
	}
	response := must2(http.Post(f.url, "application/x-www-form-urlencoded", strings.NewReader("Action=DescribeSecurityGroups&Version=2016-11-15")))(t)
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("an unsigned request got %s", response.Status)
	}
}

func TestSessionsEnd(t *testing.T) {
	f := start(t)
	role := f.role(t, "agent", trustAccount, allowAll)
	session := f.as(t, role)
	who := must2(session.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}))(t)
	if *who.Arn != "arn:aws:sts::123456789012:assumed-role/agent/tester" || *who.Account != "123456789012" {
		t.Errorf("caller = %+v", who)
	}
	behaviour := f.cloud.Behaviour()
	behaviour.SessionLifetime = time.Nanosecond
	f.cloud.SetBehaviour(behaviour)
	session = f.as(t, role)
	_, err := session.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
	wantCode(t, err, "RequestExpired")
	_, err = session.iam.ListRoles(t.Context(), &iam.ListRolesInput{})
	wantCode(t, err, "ExpiredToken")
	_, err = session.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("prod")})
	wantCode(t, err, "ExpiredTokenException")
}

func TestAssumeRoleAsksTheTrustPolicy(t *testing.T) {
	f := start(t)
	service := strings.Replace(trustAccount, `"AWS":"123456789012"`, `"Service":"ec2.amazonaws.com"`, 1)
	arn := f.role(t, "node", service, "")
	_, err := f.sts.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: &arn, RoleSessionName: aws.String("tester")})
	wantCode(t, err, "AccessDenied")
	arn = f.role(t, "agent", trustAccount, "")
	_, err = f.sts.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: &arn, RoleSessionName: aws.String("tester"), DurationSeconds: aws.Int32(7200)})
	wantCode(t, err, "ValidationError")
}

// agentPolicy is least privilege by tags, as an agent would have it.
const agentPolicy = `{"Version":"2012-10-17","Statement":[
 {"Effect":"Allow","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":["arn:aws:ec2:eu-west-1::image/*","arn:aws:ec2:eu-west-1:*:subnet/*","arn:aws:ec2:eu-west-1:*:security-group/*"]},
 {"Effect":"Allow","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":["arn:aws:ec2:eu-west-1:*:launch-template/*","arn:aws:ec2:eu-west-1:*:spot-instances-request/*"]},
 {"Effect":"Allow","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":["arn:aws:ec2:eu-west-1:*:fleet/*","arn:aws:ec2:eu-west-1:*:instance/*","arn:aws:ec2:eu-west-1:*:volume/*","arn:aws:ec2:eu-west-1:*:network-interface/*"],
  "Condition":{"StringEquals":{"aws:RequestTag/kubernetes.io/cluster/prod":"owned"}}},
 {"Effect":"Allow","Action":"ec2:CreateTags","Resource":"arn:aws:ec2:eu-west-1:*:*/*","Condition":{"StringEquals":{"ec2:CreateAction":["RunInstances","CreateFleet"]}}},
 {"Effect":"Allow","Action":"ec2:TerminateInstances","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/kubernetes.io/cluster/prod":"owned"}}},
 {"Effect":"Allow","Action":"ec2:Describe*","Resource":"*","Condition":{"StringEquals":{"aws:RequestedRegion":"eu-west-1"}}},
 {"Effect":"Allow","Action":"iam:PassRole","Resource":"arn:aws:iam::123456789012:role/packhorse-node","Condition":{"StringEquals":{"iam:PassedToService":"ec2.amazonaws.com"}}}
]}`

func TestPermissionsByTags(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	agent := f.as(t, f.role(t, "agent", trustAccount, agentPolicy))
	in := f.fleet(t, 1, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a")
	_, err := agent.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "UnauthorizedOperation")
	if !strings.Contains(err.Error(), "ec2:CreateFleet on resource: arn:aws:ec2:eu-west-1:123456789012:fleet/*") {
		t.Errorf("the refusal does not name action and resource: %v", err)
	}

	owned := []types.Tag{{Key: aws.String("kubernetes.io/cluster/prod"), Value: aws.String("owned")}}
	in.TagSpecifications = []types.TagSpecification{
		{ResourceType: types.ResourceTypeFleet, Tags: owned}, {ResourceType: types.ResourceTypeInstance, Tags: owned}, {ResourceType: types.ResourceTypeVolume, Tags: owned},
	}
	_, err = agent.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "UnauthorizedOperation") // the interface has only the launch template's tag
	f.cloud.Templates.ByName("nodes").Data.TagSpecifications[0].Tags = owned
	mine := must2(agent.ec2.CreateFleet(t.Context(), in))(t)

	in.TagSpecifications, in.ClientToken = nil, nil // the client filled the token in
	others := must2(f.ec2.CreateFleet(t.Context(), in))(t)
	_, err = agent.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ec2model.InstancesOf(others)})
	wantCode(t, err, "UnauthorizedOperation")
	_, err = agent.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ec2model.InstancesOf(mine)})
	wantCode(t, err, "")
	_, err = agent.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	wantCode(t, err, "")
	_, err = agent.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("agent")})
	wantCode(t, err, "AccessDenied")
	_, err = agent.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("prod")})
	wantCode(t, err, "AccessDeniedException")
	_, err = agent.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	wantCode(t, err, "")
}

func TestPassRoleIsNeeded(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	agent := f.as(t, f.role(t, "agent", trustAccount, `{"Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"*"}]}`))
	_, err := agent.ec2.CreateFleet(t.Context(), f.fleet(t, 1, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a"))
	wantCode(t, err, "UnauthorizedOperation")
	if !strings.Contains(err.Error(), "iam:PassRole on resource: arn:aws:iam::123456789012:role/packhorse-node") {
		t.Errorf("the refusal does not name the role: %v", err)
	}
}

// clusterToken makes a bearer token as EKS clients do.
func clusterToken(t *testing.T, c *clients, cluster string) string {
	t.Helper()
	signed, err := sts.NewPresignClient(c.sts).PresignGetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}, func(o *sts.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, sts.WithAPIOptions(smithyhttp.SetHeaderValue("x-k8s-aws-id", cluster), smithyhttp.SetHeaderValue("X-Amz-Expires", "60")))
	})
	if err != nil {
		t.Fatal(err)
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(signed.URL))
}

func TestAuthenticateToken(t *testing.T) {
	f := start(t)
	deployer := f.as(t, f.role(t, "deployer", trustAccount, ""))
	key, _ := f.cloud.AdminCredentials()
	must2(f.eks.CreateAccessEntry(t.Context(), &eks.CreateAccessEntryInput{
		ClusterName: aws.String("prod"), PrincipalArn: aws.String("arn:aws:iam::123456789012:role/deployer"), KubernetesGroups: []string{"deployers"},
	}))(t)
	stranger := f.as(t, f.role(t, "stranger", trustAccount, allowAll))
	type answer struct {
		Username string
		Groups   []string
		Refused  string // part of the error
	}
	cases := map[string]struct {
		token string
		want  answer
	}{
		"administrator":    {clusterToken(t, f.clients, "prod"), answer{"arn:aws:iam::123456789012:user/admin", []string{"system:masters"}, ""}},
		"access entry":     {clusterToken(t, deployer, "prod"), answer{"arn:aws:sts::123456789012:assumed-role/deployer/tester", []string{"deployers"}, ""}},
		"no access entry":  {clusterToken(t, stranger, "prod"), answer{Refused: "has no access entry"}},
		"another cluster":  {clusterToken(t, f.clients, "staging"), answer{Refused: "SignatureDoesNotMatch"}},
		"another secret":   {clusterToken(t, newClients(f.url, key, "wrong", ""), "prod"), answer{Refused: "SignatureDoesNotMatch"}},
		"not a token":      {"Bearer x", answer{Refused: "does not begin with"}},
		"not a signed URL": {"k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte("https://sts/?Action=GetCallerIdentity&Version=2011-06-15")), answer{Refused: "not signed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			username, groups, err := f.cloud.AuthenticateToken(t.Context(), tc.token)
			got := answer{Username: username, Groups: groups}
			if err != nil && strings.Contains(err.Error(), tc.want.Refused) {
				got.Refused = tc.want.Refused
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("identity (-want +got):\n%s(error: %v)", diff, err)
			}
		})
	}
	token := clusterToken(t, f.clients, "prod")
	f.cloud.Wall = func() time.Time { return time.Now().Add(16 * time.Minute) }
	if _, _, err := f.cloud.AuthenticateToken(t.Context(), token); err == nil || !strings.Contains(err.Error(), "no longer") {
		t.Errorf("a token of a quarter of an hour ago: %v", err)
	}
}
