package cloud

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"
)

func TestDescribeCluster(t *testing.T) {
	f := start(t)
	got := must2(f.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("prod")}))(t).Cluster
	if *got.Endpoint != "https://127.0.0.1:6443" || *got.Version != "1.33" || *got.Identity.Oidc.Issuer != "https://127.0.0.1:6443" ||
		*got.CertificateAuthority.Data != base64.StdEncoding.EncodeToString([]byte("PEM")) || *got.KubernetesNetworkConfig.ServiceIpv4Cidr != "10.100.0.0/16" ||
		got.Status != ekstypes.ClusterStatusActive || len(got.ResourcesVpcConfig.SubnetIds) != 3 || !got.CreatedAt.Equal(f.clock.Now()) {
		t.Errorf("cluster = %+v", got)
	}
	_, err := f.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("other")})
	var missing *ekstypes.ResourceNotFoundException
	if !asError(err, &missing) {
		t.Errorf("unknown cluster: %v", err)
	}
	if list := must2(f.eks.ListNodegroups(t.Context(), &eks.ListNodegroupsInput{ClusterName: aws.String("prod")}))(t).Nodegroups; len(list) != 0 {
		t.Errorf("node groups = %v", list)
	}
	if list := must2(f.eks.ListPodIdentityAssociations(t.Context(), &eks.ListPodIdentityAssociationsInput{ClusterName: aws.String("prod")}))(t).Associations; len(list) != 0 {
		t.Errorf("pod identities = %v", list)
	}
}

func TestAccessEntries(t *testing.T) {
	f, ctx, cluster := start(t), t.Context(), aws.String("prod")
	must2(f.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("nodes"), Path: aws.String("/packhorse/"), AssumeRolePolicyDocument: aws.String(trustAccount)}))(t)
	principal := aws.String("arn:aws:iam::123456789012:role/packhorse/nodes")
	entry := must2(f.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: cluster, PrincipalArn: principal, Type: aws.String("EC2_LINUX"), Tags: map[string]string{"a": "b"}}))(t).AccessEntry
	if *entry.Username != "system:node:{{EC2PrivateDNSName}}" || !slices.Equal(entry.KubernetesGroups, []string{"system:nodes"}) || entry.Tags["a"] != "b" {
		t.Errorf("entry = %+v", entry)
	}
	_, err := f.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: cluster, PrincipalArn: principal})
	wantCode(t, err, "ResourceInUseException")
	_, err = f.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: cluster, PrincipalArn: aws.String("arn:aws:iam::123456789012:role/ghost")})
	wantCode(t, err, "InvalidParameterException")
	got := must2(f.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: principal}))(t).AccessEntry
	if *got.Type != "EC2_LINUX" || *got.PrincipalArn != *principal {
		t.Errorf("described entry = %+v", got)
	}
	list := must2(f.eks.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: cluster}))(t).AccessEntries
	if diff := cmp.Diff([]string{"arn:aws:iam::123456789012:role/packhorse-node", *principal}, list); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	must2(f.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: cluster, PrincipalArn: principal}))(t)
	_, err = f.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: principal})
	wantCode(t, err, "ResourceNotFoundException")
}

func TestPodIdentityAssociations(t *testing.T) {
	f, ctx, cluster := start(t), t.Context(), aws.String("prod")
	const trustPods = `{"Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"],` +
		`"Condition":{"StringEquals":{"aws:RequestTag/kubernetes-namespace":"reports"}}}]}`
	f.role(t, "pods", trustPods, "")
	f.role(t, "people", trustAccount, "")
	association := func(namespace, role string) *eks.CreatePodIdentityAssociationInput {
		return &eks.CreatePodIdentityAssociationInput{
			ClusterName: cluster, Namespace: &namespace, ServiceAccount: aws.String("writer"),
			RoleArn: aws.String("arn:aws:iam::123456789012:role/" + role), Tags: map[string]string{"a": "b"},
		}
	}
	for role, in := range map[string]*eks.CreatePodIdentityAssociationInput{
		"unknown": association("reports", "ghost"), "for people": association("reports", "people"), "for another namespace": association("other", "pods"),
	} {
		if _, err := f.eks.CreatePodIdentityAssociation(ctx, in); err == nil {
			t.Errorf("took a role that is %s", role)
		}
	}
	made := must2(f.eks.CreatePodIdentityAssociation(ctx, association("reports", "pods")))(t).Association
	_, err := f.eks.CreatePodIdentityAssociation(ctx, association("reports", "pods"))
	wantCode(t, err, "ResourceInUseException")
	must2(f.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: made.AssociationArn, Tags: map[string]string{"c": "d"}}))(t)
	got := must2(f.eks.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: cluster, AssociationId: made.AssociationId}))(t).Association
	if *got.RoleArn != "arn:aws:iam::123456789012:role/pods" || got.Tags["a"] != "b" || got.Tags["c"] != "d" {
		t.Errorf("association = %+v", got)
	}
	of := func(namespace string) int {
		return len(must2(f.eks.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: cluster, Namespace: &namespace}))(t).Associations)
	}
	if of("reports") != 1 || of("other") != 0 {
		t.Errorf("%d and %d associations, want 1 and 0", of("reports"), of("other"))
	}
	_, err = f.eks.UpdatePodIdentityAssociation(ctx, &eks.UpdatePodIdentityAssociationInput{
		ClusterName: cluster, AssociationId: made.AssociationId, RoleArn: aws.String("arn:aws:iam::123456789012:role/people"),
	})
	wantCode(t, err, "InvalidParameterException")
	gone := &eks.DeletePodIdentityAssociationInput{ClusterName: cluster, AssociationId: made.AssociationId}
	must2(f.eks.DeletePodIdentityAssociation(ctx, gone))(t)
	_, err = f.eks.DeletePodIdentityAssociation(ctx, gone)
	wantCode(t, err, "ResourceNotFoundException")
}

func TestImageParameters(t *testing.T) {
	f := start(t)
	for _, name := range []string{
		"/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.33/amazon-linux-2-gpu/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.33/amazon-linux-2-arm64/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/recommended/image_id",
		"/aws/service/bottlerocket/aws-k8s-1.33/arm64/latest/image_id",
		"/aws/service/bottlerocket/aws-k8s-1.33-nvidia/x86_64/latest/image_id",
		"/aws/service/canonical/ubuntu/eks/22.04/1.33/stable/current/amd64/hvm/ebs-gp2/ami-id",
		"/aws/service/ami-windows-latest/Windows_Server-2019-English-Core-EKS_Optimized-1.33/image_id",
		"/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-EKS_Optimized-1.32/image_id",
	} {
		got, err := f.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &name})
		if err != nil || !hasPrefix(got.Parameter.Value, "ami-") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, err := f.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/aws/service/nothing")})
	var missing *ssmtypes.ParameterNotFound
	if !asError(err, &missing) {
		t.Errorf("unknown parameter: %v", err)
	}
	several := must2(f.ssm.GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{"/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id", "/none"}}))(t)
	if len(several.Parameters) != 1 || !slices.Equal(several.InvalidParameters, []string{"/none"}) {
		t.Errorf("several = %+v", several)
	}
}

func TestGetProducts(t *testing.T) {
	f := start(t)
	termMatch := func(field, value string) pricingtypes.Filter {
		return pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: &field, Value: &value}
	}
	out := must2(f.pricing.GetProducts(t.Context(), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: []pricingtypes.Filter{
		termMatch("instanceType", "m5.large"), termMatch("regionCode", "eu-west-1"), termMatch("location", "EU (Ireland)"), termMatch("operatingSystem", "Linux"),
		termMatch("tenancy", "Shared"), termMatch("preInstalledSw", "NA"), termMatch("capacitystatus", "Used"), termMatch("productFamily", "Compute Instance"),
	}}))(t)
	if len(out.PriceList) != 1 {
		t.Fatalf("got %d products, want 1", len(out.PriceList))
	}
	var product struct {
		Product struct{ Attributes map[string]string }
		Terms   struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					Unit         string
					PricePerUnit map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out.PriceList[0]), &product); err != nil {
		t.Fatal(err)
	}
	for _, term := range product.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			if dimension.Unit != "Hrs" || dimension.PricePerUnit["USD"] != "0.1070000000" || product.Product.Attributes["instanceType"] != "m5.large" {
				t.Errorf("product = %+v", product)
			}
		}
	}
	count := 0
	for pages := pricing.NewGetProductsPaginator(f.pricing, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(5)}); pages.HasMorePages(); {
		count += len(must2(pages.NextPage(t.Context()))(t).PriceList)
	}
	if count != 12 { // six types, Linux and Windows
		t.Errorf("got %d products in pages, want 12", count)
	}
	_, err := f.pricing.GetProducts(t.Context(), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), NextToken: aws.String("x")})
	wantCode(t, err, "InvalidNextTokenException")
}

func TestQueues(t *testing.T) {
	f, ctx := start(t), t.Context()
	made := must2(f.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("interruptions"), Attributes: map[string]string{"MessageRetentionPeriod": "300"}, Tags: map[string]string{"a": "b"}}))(t)
	if want := f.url + "/123456789012/interruptions"; *made.QueueUrl != want {
		t.Errorf("URL = %s, want %s", *made.QueueUrl, want)
	}
	found := must2(f.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("interruptions")}))(t)
	queue := found.QueueUrl
	_, err := f.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
	var missing *sqstypes.QueueDoesNotExist
	if !asError(err, &missing) {
		t.Errorf("unknown queue: %v", err)
	}
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue") // the code of the query protocol, which SQS sends too
	must2(f.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: queue, Attributes: map[string]string{"VisibilityTimeout": "60"}}))(t)
	_, err = f.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: queue, Attributes: map[string]string{"VisibilityTimeout": "-1"}})
	wantCode(t, err, "InvalidAttributeValue")
	attributes := must2(f.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: queue, AttributeNames: []sqstypes.QueueAttributeName{"All"}}))(t).Attributes
	if attributes["QueueArn"] != "arn:aws:sqs:eu-west-1:123456789012:interruptions" || attributes["MessageRetentionPeriod"] != "300" || attributes["VisibilityTimeout"] != "60" {
		t.Errorf("attributes = %v", attributes)
	}

	must2(f.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("one")}))(t)
	first := must2(f.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10}))(t).Messages
	if len(first) != 1 || *first[0].Body != "one" {
		t.Fatalf("messages = %+v", first)
	}
	if again := must2(f.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue}))(t).Messages; len(again) != 0 {
		t.Errorf("a message in flight was received again: %+v", again)
	}
	must2(f.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: first[0].ReceiptHandle}))(t)
	attributes = must2(f.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: queue, AttributeNames: []sqstypes.QueueAttributeName{"ApproximateNumberOfMessagesNotVisible"}}))(t).Attributes
	if diff := cmp.Diff(map[string]string{"ApproximateNumberOfMessagesNotVisible": "0"}, attributes); diff != "" {
		t.Errorf("attributes after the deletion (-want +got):\n%s", diff)
	}
	must2(f.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: queue}))(t)
	_, err = f.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue})
	if !asError(err, &missing) {
		t.Errorf("deleted queue: %v", err)
	}
}

func TestLongPollingEndsWhenAMessageArrives(t *testing.T) {
	f, ctx := start(t), t.Context()
	queue := must2(f.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("q")}))(t).QueueUrl
	got := make(chan string, 1)
	go func() {
		out, err := f.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20})
		if err != nil || len(out.Messages) != 1 {
			got <- "nothing: " + codeOf(err)
			return
		}
		got <- *out.Messages[0].Body
	}()
	must2(f.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("late")}))(t)
	select {
	case body := <-got:
		if body != "late" {
			t.Errorf("received %s", body)
		}
	case <-time.After(10 * time.Second):
		t.Error("the message did not end the wait")
	}
}
