// Package asset describes what is kept in an AWS account besides machines, as it is declared:
// roles, instance profiles, access entries, pod identity associations, queues and rules.
package asset

import (
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

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

// Profile is an instance profile.
type Profile struct {
	Name string
	Path string
	// Role is the name of the role that it gives to machines, empty for none.
	Role string
	Tags map[string]string
}

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
	Key  string
	Tags map[string]string
}

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
