// Package asset describes what is kept in an AWS account besides machines. The cluster is as
// EKS describes it. Roles, OIDC providers, instance profiles, access entries, pod identity
// associations, queues and rules are as they are declared.
package asset

import (
	"fmt"
	"maps"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Cluster is an EKS cluster.
type Cluster struct {
	Name string
	ARN  string
	// Endpoint is the URL of the API server.
	Endpoint string
	// CA is the PEM bundle that verifies the API server's certificate.
	CA      []byte
	Version string // of Kubernetes, such as 1.33
	Status  string // such as ACTIVE
	// ServiceCIDR is the address range of Services, empty if EKS reports none.
	ServiceCIDR string
	// IPv6 reports whether pods and Services have IPv6 addresses.
	IPv6 bool
	// Issuer is the URL of the OIDC issuer, empty if the cluster has none.
	Issuer         string
	VPC            string
	Subnets        []string // sorted
	SecurityGroups []string // sorted, with the cluster's own
	Tags           map[string]string
}

// ProviderARN returns the ARN of the issuer's IAM OIDC provider, whether or not that exists.
// It is empty without an issuer.
func (c *Cluster) ProviderARN() string {
	arn := strings.Split(c.ARN, ":") // arn:PARTITION:eks:REGION:ACCOUNT:…
	if c.Issuer == "" || len(arn) < 5 {
		return ""
	}
	return policy.ProviderARN(arn[1], arn[4], c.Issuer)
}

// NameIn returns the name at the end of an ARN.
func NameIn(arn string) string { return arn[strings.LastIndexAny(arn, ":/")+1:] }

// OwnTags returns the tags without those of AWS itself, such as those of CloudFormation, which nobody else can change.
func OwnTags(tags map[string]string) map[string]string {
	own := maps.Clone(tags)
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, "aws:") })
	return own
}

// Role is an IAM role with its policies.
type Role struct {
	Name        string
	Path        string
	Description string
	// Boundary is the ARN of the permissions boundary, empty without one.
	Boundary string
	// MaxSession is the longest session in seconds.
	MaxSession int32
	Trust      string
	// Inline maps the names of inline policies to their JSON.
	Inline map[string]string
	// Attached are the ARNs of managed policies.
	Attached []string
	Tags     map[string]string
}

// DefaultSession is IAM's default for MaxSession.
const DefaultSession = 3600

// OIDCProvider is an IAM OIDC provider.
type OIDCProvider struct {
	Issuer string // URL
	ARN    string
	// Create is whether it is created if there is none.
	Create bool
	Tags   map[string]string
}

// Profile is an instance profile.
type Profile struct {
	Name string
	Path string
	// Role is the name of the role that it gives to machines, empty for none.
	Role string
	Tags map[string]string
}

// LinuxEntry is the default for the Type of an Entry.
const LinuxEntry = "EC2_LINUX"

// Entry is an access entry of an EKS cluster.
type Entry struct {
	Cluster string
	// Principal is the ARN of the role whose machines are admitted.
	Principal string
	// Type is what the machines are: EC2_LINUX or EC2_WINDOWS.
	Type string
	Tags map[string]string
}

// Association is an EKS pod identity association: the pods of the ServiceAccount get the
// role.
type Association struct {
	Cluster string
	Account policy.ServiceAccount
	Role    string // ARN
	Tags    map[string]string
}

// String names the association in errors.
func (a Association) String() string {
	return fmt.Sprintf("the pod identity association of ServiceAccount %s/%s in cluster %q", a.Account.Namespace, a.Account.Name, a.Cluster)
}

// Queue is an SQS queue.
type Queue struct {
	Name   string
	Policy string
	// Retention is for how many seconds a message is kept, Visibility for how
	// many it is hidden from others while it is worked on.
	Retention, Visibility int64
	// Key is the id, alias or ARN of the KMS key that messages are encrypted
	// with, empty for a key that SQS manages.
	Key string
	// Plain: messages are not encrypted at all.
	Plain bool
	Tags  map[string]string
}

// The defaults for a Queue, in seconds. After five minutes, the notice of a spot interruption is useless, because the
// machine is gone.
const (
	DefaultRetention  = 300
	DefaultVisibility = 30
)

// Rule is an EventBridge rule that puts events on a queue.
type Rule struct {
	Name        string
	Description string
	// Pattern says which events, as JSON.
	Pattern string
	// Queue is the ARN of the queue.
	Queue string
	Tags  map[string]string
}
