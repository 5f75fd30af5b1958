package policy

import "fmt"

// NodeTrust is the trust policy of a role for machines: EC2 alone may assume it.
func NodeTrust(partition string) (string, error) {
	return render("of trust", MaxTrust, statement{
		Effect:    "Allow",
		Principal: principals{"Service": {ec2Service(partition)}},
		Action:    values{"sts:AssumeRole"},
	})
}

// NodePolicies returns the ARNs of AWS's managed policies that a node cannot do
// without: joining the cluster, pulling images, and, unless the network plugin
// has a role of its own, giving pods addresses.
func NodePolicies(partition string, network bool) []string {
	names := []string{"AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy"}
	if network {
		names = append(names, "AmazonEKS_CNI_Policy")
	}
	arns := make([]string, len(names))
	for i, name := range names {
		arns[i] = fmt.Sprintf("arn:%s:iam::aws:policy/%s", partition, name)
	}
	return arns
}

// ec2Service is how EC2 is called as a principal.
func ec2Service(partition string) string {
	if partition == "aws-cn" {
		return "ec2.amazonaws.com.cn"
	}
	return "ec2.amazonaws.com"
}
