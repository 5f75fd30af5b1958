// Package example holds the cluster of Karpenter whose takeover the guide shows: 300
// nodes in 20 NodePools. Tests of package takeover read it as it is, and an end-to-end
// test through an API server.
package example

import (
	_ "embed"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

//go:embed example.yaml
var manifests string

// Region is where the nodes are.
const Region = "us-east-1"

const (
	nodePools = 20
	nodesEach = 15
	podsEach  = 2 // on each node
)

// Cluster is what the API server has of it. Statuses are to be written by requests of
// their own.
type Cluster struct {
	NodeClasses, NodePools, NodeClaims []map[string]any
	Nodes                              []*corev1.Node
	Pods                               []*corev1.Pod
}

// sizes are the instance types, with their vCPUs and GiB of memory.
var sizes = []struct{ name, cpu, memory string }{
	{"m5.xlarge", "4", "16Gi"}, {"m5.2xlarge", "8", "32Gi"}, {"c5.2xlarge", "8", "16Gi"}, {"r5.xlarge", "4", "32Gi"}, {"m6i.4xlarge", "16", "64Gi"},
}

// New returns the cluster. Of the NodePools, team-13 has a fixed number of nodes, and
// team-07 an EC2NodeClass with a placement group.
func New() (Cluster, error) {
	var out Cluster
	parts := strings.Split(manifests, "\n---\n")
	for _, text := range parts[:2] {
		class, err := document(text)
		if err != nil {
			return out, err
		}
		out.NodeClasses = append(out.NodeClasses, class)
	}
	for i := range nodePools {
		name := fmt.Sprintf("team-%02d", i)
		pool, err := document(Pool(name, map[bool]string{true: "efa", false: "default"}[i == 7]))
		if err != nil {
			return out, err
		}
		if i == 13 {
			spec := pool["spec"].(map[string]any)
			delete(spec, "disruption")
			spec["replicas"] = int64(nodesEach)
		}
		out.NodePools = append(out.NodePools, pool)
		for j := range nodesEach {
			out.add(name, fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i, j), i+j, Region+string("abc"[j%3]))
		}
	}
	return out, nil
}

// Pool returns a NodePool of an EC2NodeClass as YAML.
func Pool(name, class string) string {
	parts := strings.Split(manifests, "\n---\n")
	return strings.NewReplacer("NAME", name, "CLASS", class).Replace(parts[2])
}

func document(text string) (map[string]any, error) {
	var out map[string]any
	err := yaml.Unmarshal([]byte(text), &out)
	return out, err
}

// add adds a node of Karpenter with its NodeClaim and pods.
func (c *Cluster) add(pool, name string, size int, zone string) {
	is := sizes[size%len(sizes)]
	provider := "aws:///" + zone + "/" + name
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(is.cpu), corev1.ResourceMemory: resource.MustParse(is.memory), corev1.ResourcePods: resource.MustParse("58")}
	c.Nodes = append(c.Nodes, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{api.Finalizer}, Labels: map[string]string{
			api.LabelNodePool: pool, api.LabelInstanceType: is.name, api.LabelZone: zone, api.LabelRegion: Region, api.LabelCapacityType: api.CapacityOnDemand,
			api.LabelHostname: name, api.LabelArch: "amd64", api.LabelOS: "linux", api.LabelInitialized: "true",
		}},
		Spec: corev1.NodeSpec{ProviderID: provider},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()},
		}},
	})
	c.NodeClaims = append(c.NodeClaims, map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": map[string]any{"name": pool + "-" + strings.TrimSuffix(name, ".ec2.internal"), "labels": map[string]any{api.LabelNodePool: pool}, "finalizers": []any{api.Finalizer}},
		"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": []any{map[string]any{"key": api.LabelInstanceType, "operator": "In", "values": []any{is.name}}},
		},
		"status": map[string]any{"nodeName": name, "providerID": provider},
	})
	for i := range podsEach {
		c.Pods = append(c.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", strings.TrimSuffix(name, ".ec2.internal"), i)},
			Spec: corev1.PodSpec{
				NodeName: name, NodeSelector: map[string]string{api.LabelNodePool: pool},
				Containers: []corev1.Container{{Name: "main", Image: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi"),
				}}}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
	}
}
