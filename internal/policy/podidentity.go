package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// podIdentityService is how EKS pod identity is called as a principal, in all
// partitions.
const podIdentityService = "pods.eks.amazonaws.com"

// The session tags by which EKS pod identity says for whom it assumes a role.
const (
	clusterTag   = "aws:RequestTag/eks-cluster-arn"
	namespaceTag = "aws:RequestTag/kubernetes-namespace"
	accountTag   = "aws:RequestTag/kubernetes-service-account"
)

// byPodIdentity demands the cluster, the namespace and the name of the
// ServiceAccount. Conditions are met one by one, so that each namespace needs a
// statement of its own.
func (t Trust) byPodIdentity() []statement {
	names := map[string]values{}
	for _, account := range t.Accounts {
		names[account.Namespace] = append(names[account.Namespace], account.Name)
	}
	var out []statement
	for _, namespace := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[namespace])
		out = append(out, statement{
			Effect:    "Allow",
			Principal: principals{"Service": {podIdentityService}},
			Action:    values{"sts:AssumeRole", "sts:TagSession"},
			Condition: map[string]condition{"StringEquals": {
				clusterTag:   {t.Cluster},
				namespaceTag: {namespace},
				accountTag:   slices.Compact(names[namespace]),
			}},
		})
	}
	return out
}

// addPodIdentity reads a statement about pod identity.
func (s *statement) addPodIdentity(trust *Trust) error {
	tags := s.Condition["StringEquals"]
	cluster, namespace := tags[clusterTag], tags[namespaceTag]
	if len(cluster) != 1 || len(namespace) != 1 || len(tags[accountTag]) == 0 {
		return errors.New("pod identity is trusted without conditions on cluster, namespace and ServiceAccount")
	}
	if err := s.onlyConditions(clusterTag, namespaceTag, accountTag); err != nil {
		return err
	}
	if trust.Cluster != "" && trust.Cluster != cluster[0] {
		return fmt.Errorf("it trusts the pods of two clusters, %s and %s", trust.Cluster, cluster[0])
	}
	trust.Cluster = cluster[0]
	for _, name := range tags[accountTag] {
		trust.Accounts = append(trust.Accounts, ServiceAccount{namespace[0], name})
	}
	return nil
}

// sameAccounts compares sets of ServiceAccounts.
func sameAccounts(a, b []ServiceAccount) bool {
	return slices.Equal(inOrder(a), inOrder(b))
}

func inOrder(accounts []ServiceAccount) []ServiceAccount {
	sorted := slices.SortedFunc(slices.Values(accounts), func(a, b ServiceAccount) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(sorted)
}

// ClusterARN is the ARN of an EKS cluster.
func ClusterARN(partition, region, account, name string) string {
	return fmt.Sprintf("arn:%s:eks:%s:%s:cluster/%s", partition, region, account, name)
}
