package connect_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
)

// TestAnEmptyAnswerIsAnError holds that nobody has to expect nil where the answer is
// one thing. A list may be empty; where AWS always sends it, it may not be missing: a
// pod identity association that is overlooked outlives its role.
func TestAnEmptyAnswerIsAnError(t *testing.T) {
	body := "{}"
	cfg := answering(t, "application/json", &body)
	clusters, queues := eks.NewFromConfig(cfg), sqs.NewFromConfig(cfg)
	describe := func() error {
		_, err := clusters.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("prod")})
		return err
	}
	if err := describe(); err == nil || !strings.Contains(err.Error(), "EKS DescribeCluster: the response is empty") {
		t.Errorf("describe: error = %v, want that the response is empty", err)
	}
	if _, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")}); err == nil {
		t.Error("a queue without a URL is no error")
	}
	associations := func() error {
		_, err := clusters.ListPodIdentityAssociations(t.Context(), &eks.ListPodIdentityAssociationsInput{ClusterName: aws.String("prod")})
		return err
	}
	if err := associations(); err == nil || !strings.Contains(err.Error(), "EKS ListPodIdentityAssociations: the response is empty") {
		t.Errorf("list: error = %v, want that the response is empty", err)
	}
	if _, err := queues.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: aws.String("https://q")}); err != nil {
		t.Errorf("no tags: %v", err)
	}
	if _, err := clusters.DeletePodIdentityAssociation(t.Context(), &eks.DeletePodIdentityAssociationInput{ClusterName: aws.String("prod"), AssociationId: aws.String("a-1")}); err == nil {
		t.Error("a deletion that nobody has confirmed is no error")
	}
	if _, err := queues.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: aws.String("https://q")}); err != nil {
		t.Errorf("a deletion whose answer has nothing to say: %v", err)
	}
	body = `{"associations":[]}`
	if err := associations(); err != nil {
		t.Errorf("a list of nothing: %v", err)
	}
	body = `{"cluster":{"name":"prod"}}`
	if err := describe(); err != nil {
		t.Errorf("an answer: %v", err)
	}
}

// answering is an AWS that gives the same answer to everything.
func answering(t *testing.T, contentType string, body *string) aws.Config {
	t.Helper()
	isolate(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, *body)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	cfg, err := connect.Load(t.Context(), connect.Settings{Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestAForeignAnswerIsAnError holds that what is no answer of AWS is not taken for a
// list of nothing.
func TestAForeignAnswerIsAnError(t *testing.T) {
	for kind, body := range map[string]string{"text/html": "<html>Sign in</html>", "application/json": "{}", "text/plain": "OK", "": "", "text/xml": ""} {
		_, err := ec2.NewFromConfig(answering(t, kind, &body)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
		if err == nil || !strings.Contains(err.Error(), "check that the endpoint is one of AWS") {
			t.Errorf("%q: error = %v, want that it is not AWS", kind, err)
		}
	}
	body := `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/></DescribeInstancesResponse>`
	if _, err := ec2.NewFromConfig(answering(t, "text/xml;charset=UTF-8", &body)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); err != nil {
		t.Errorf("a list of nothing: %v", err)
	}
}
