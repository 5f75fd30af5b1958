package install

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

var (
	core   = []string{""}
	leases = []string{"coordination.k8s.io"}
	watch  = []string{"list", "watch"}
)

// clusterRules are the verbs that the agent uses, and no others: the end-to-end
// tests fail for a verb that none of their scenes needs.
func clusterRules() []rbacv1.PolicyRule {
	provisioners, templates := []string{api.ProvisionerGroup}, []string{api.NodeTemplateGroup}
	return []rbacv1.PolicyRule{
		// What decisions look at.
		{APIGroups: core, Resources: []string{"pods", "nodes", "namespaces", "persistentvolumes", "persistentvolumeclaims"}, Verbs: watch},
		{APIGroups: core, Resources: []string{"pods", "nodes"}, Verbs: []string{"get"}},
		{APIGroups: []string{"apps"}, Resources: []string{"daemonsets"}, Verbs: watch},
		// How many pods are still to come of a scale-up.
		{APIGroups: []string{"apps"}, Resources: []string{"replicasets", "statefulsets"}, Verbs: []string{"get"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get"}},
		{APIGroups: core, Resources: []string{"resourcequotas"}, Verbs: []string{"list"}},
		{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: watch},
		{APIGroups: []string{"storage.k8s.io"}, Resources: []string{"storageclasses", "csinodes", "csidrivers", "volumeattachments"}, Verbs: watch},
		// Configuration: the finalizer is part of the object, the status is not.
		{APIGroups: provisioners, Resources: []string{"provisioners"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: templates, Resources: []string{"awsnodetemplates"}, Verbs: watch},
		{APIGroups: provisioners, Resources: []string{"provisioners/status"}, Verbs: []string{"patch"}},
		{APIGroups: templates, Resources: []string{"awsnodetemplates/status"}, Verbs: []string{"patch"}},
		// An owner reference that blocks the owner's deletion needs this one.
		{APIGroups: provisioners, Resources: []string{"provisioners/finalizers"}, Verbs: []string{"update"}},
		// Nodes come and go.
		{APIGroups: core, Resources: []string{"nodes"}, Verbs: []string{"create", "patch", "delete"}},
		// Pods are bound, and evicted. They are deleted only where no kubelet will ever
		// stop them, or where a termination grace period is over.
		{APIGroups: core, Resources: []string{"pods/binding", "pods/eviction"}, Verbs: []string{"create"}},
		{APIGroups: core, Resources: []string{"pods"}, Verbs: []string{"delete"}},
		// Pods that their owners should end first get a deletion cost, and those that are deleted a condition. The
		// status is enough for annotations, and leaves alone what pods run.
		{APIGroups: core, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
		// Deployments that ask for it get one more replica before a pod of theirs is moved,
		// unless an autoscaler scales them.
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: watch},
		{APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}, Verbs: watch},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"update"}},
		// Volumes that wait for their first consumer get the name of its node.
		{APIGroups: core, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"patch"}},
		{APIGroups: core, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		// Whether another installation of the agent leads, in whatever namespace.
		{APIGroups: leases, Resources: []string{"leases"}, ResourceNames: []string{LeaseName}, Verbs: []string{"list"}},
	}
}

// leaseRules are for leader election, in the agent's own namespace.
func leaseRules() []rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{APIGroups: leases, Resources: []string{"leases"}}
	create, keep := rule, rule
	create.Verbs = []string{"create"} // which cannot be bound to a name
	keep.ResourceNames, keep.Verbs = []string{LeaseName}, []string{"get", "update"}
	return []rbacv1.PolicyRule{create, keep}
}

// NodePoolRules are those that it takes to serve NodePools.
func NodePoolRules() []rbacv1.PolicyRule {
	provisioners, templates := []string{api.ProvisionerGroup}, []string{api.NodeTemplateGroup}
	return []rbacv1.PolicyRule{
		{APIGroups: provisioners, Resources: []string{"nodepools"}, Verbs: watch},
		{APIGroups: templates, Resources: []string{"ec2nodeclasses"}, Verbs: watch},
		{APIGroups: provisioners, Resources: []string{"nodepools/status"}, Verbs: []string{"patch"}},
		{APIGroups: templates, Resources: []string{"ec2nodeclasses/status"}, Verbs: []string{"patch"}},
		{APIGroups: provisioners, Resources: []string{"nodepools/finalizers"}, Verbs: []string{"update"}},
		// What Karpenter keeps account of its machines by is released with them.
		{APIGroups: provisioners, Resources: []string{"nodeclaims"}, Verbs: []string{"get", "list", "patch", "delete"}},
		// Whether Karpenter runs, in whatever namespace.
		{APIGroups: leases, Resources: []string{"leases"}, ResourceNames: []string{KarpenterLease}, Verbs: []string{"list"}},
	}
}

// KarpenterLease is the name of the Lease with which the replicas of Karpenter elect a leader.
const KarpenterLease = "karpenter-leader-election"

func (s *Settings) clusterRole() *rbacv1.ClusterRole {
	rules := clusterRules()
	if on, err := strconv.ParseBool(s.Options["node-pools"]); err == nil && on {
		rules = append(rules, NodePoolRules()...)
	}
	return &rbacv1.ClusterRole{TypeMeta: rbac("ClusterRole"), ObjectMeta: s.clusterMeta(s.Name), Rules: rules}
}

func (s *Settings) clusterRoleBinding() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: rbac("ClusterRoleBinding"), ObjectMeta: s.clusterMeta(s.Name), Subjects: s.subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.Name},
	}
}

func (s *Settings) role() *rbacv1.Role {
	return &rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: s.meta(), Rules: leaseRules()}
}

func (s *Settings) roleBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: rbac("RoleBinding"), ObjectMeta: s.meta(), Subjects: s.subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: s.Name},
	}
}

func (s *Settings) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: s.Name, Namespace: s.Namespace}}
}

// RoleAnnotation names the IAM role that EKS lets pods of a ServiceAccount assume.
const RoleAnnotation = "eks.amazonaws.com/role-arn"

func (s *Settings) serviceAccount() *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: s.meta()}
	if s.RoleARN != "" {
		account.Annotations = map[string]string{RoleAnnotation: s.RoleARN}
	}
	return account
}

func rbac(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
