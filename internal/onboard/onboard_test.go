package onboard_test

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

var update = flag.Bool("update", false, "rewrite the wanted files")

const clusterARN = "arn:aws:eks:eu-west-1:123456789012:cluster/prod"

const issuer = "https://oidc.eks.eu-west-1.amazonaws.com/id/ABC"

// cluster holds the objects of a file.
type cluster []map[string]any

func (c cluster) Objects(ctx context.Context, kind schema.GroupVersionResource) ([]map[string]any, error) {
	return c.Newest(ctx, kind.GroupResource())
}

func (c cluster) Newest(_ context.Context, kind schema.GroupResource) ([]map[string]any, error) {
	var out []map[string]any
	for _, object := range c {
		name, _ := object["kind"].(string)
		if strings.EqualFold(name+"s", kind.Resource) || strings.EqualFold(name+"es", kind.Resource) {
			out = append(out, object)
		}
	}
	return out, nil
}

func (c cluster) RoleOf(_ context.Context, _, name string) (string, error) {
	return "arn:aws:iam::123456789012:role/" + name, nil
}

// account has two roles of which one trusts others too, and one group of each kind.
type account struct{}

func (account) Scope(_ context.Context, cluster string) (onboard.Scope, error) {
	return onboard.Scope{ClusterName: cluster, Region: "eu-west-1", ARN: clusterARN, Issuer: issuer}, nil
}

func (account) Groups(context.Context, string) ([]offer.NodeGroup, error) {
	return []offer.NodeGroup{
		{
			Kind: offer.AutoscalerGroup, Name: "workers", InstanceTypes: []string{"c5.large", "c5.xlarge"}, Max: 10,
			Zones: []string{"eu-west-1a"}, Taints: []corev1.Taint{{Key: "batch", Effect: corev1.TaintEffectNoSchedule}},
		},
		{
			Kind: offer.ManagedNodeGroup, Name: "general", InstanceTypes: []string{"m5.large"}, CapacityType: "on-demand", Min: 2, Max: 5, Desired: 3,
			SubnetIDs: []string{"subnet-1", "subnet-2"}, Labels: map[string]string{"team": "a", "kubernetes.io/role": "worker"},
			AMIFamily: "AL2023", Arch: "amd64", DiskGiB: 50, Role: "arn:aws:iam::123456789012:role/nodes",
		},
	}, nil
}

// NodeRoles are one that can be imported, one that lacks something, and one that EKS
// keeps for a node group.
func (account) NodeRoles(context.Context, string) ([]onboard.NodeRole, error) {
	trust, err := policy.NodeTrust("aws")
	if err != nil {
		return nil, err
	}
	role := func(name string, attached ...string) onboard.Role {
		return onboard.Role{ARN: "arn:aws:iam::123456789012:role/" + name, Role: asset.Role{Name: name, Path: "/", MaxSession: 3600, Trust: trust, Attached: attached}}
	}
	ours := role("prod-node", append(policy.NodePolicies("aws", false), "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")...)
	ours.Tags = map[string]string{"team": "a", "aws:cloudformation:stack-name": "nodes"}
	ours.Trust = strings.Replace(trust, `"sts:AssumeRole"`, `["sts:AssumeRole"]`, 1)
	ours.Inline = map[string]string{"read": `{"Version":"2012-10-17","Statement":[]}`}
	old := role("old-node", "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy")
	return []onboard.NodeRole{
		{Role: ours, Entry: "EC2_LINUX", Profiles: []asset.Profile{{Name: "machines", Path: "/"}}},
		{Role: old, Entry: "EC2_WINDOWS"},
		{Role: role("nodes", policy.NodePolicies("aws", true)...), Entry: "EC2_LINUX", Profiles: []asset.Profile{{Name: "eks-1a2b", Path: "/"}}},
	}, nil
}

// ProfilesOf has one profile of the account's own beside that of a node group.
func (account) ProfilesOf(_ context.Context, role string) ([]asset.Profile, error) {
	if role != "nodes" {
		return nil, fs.ErrNotExist
	}
	return []asset.Profile{{Name: "eks-1a2b", Path: "/"}, {Name: "machines", Path: "/"}}, nil
}

// Queues are one that can be imported, one that is not encrypted, one that a role reads
// and whose rules have other names, and those of other clusters, of which some have the name of
// this one in theirs.
func (account) Queues(context.Context) ([]onboard.Queue, error) {
	queue := func(name string, rules ...string) onboard.Queue {
		arn := "arn:aws:sqs:eu-west-1:123456789012:" + name
		document, err := policy.Queue(arn)
		if err != nil {
			panic(err)
		}
		return onboard.Queue{ARN: arn, Rules: rules, Queue: asset.Queue{Name: name, Policy: document, Retention: 300, Visibility: 30}}
	}
	made := func(name string) onboard.Queue {
		made := queue(name)
		for _, event := range policy.InterruptionEvents() {
			made.Rules = append(made.Rules, event.RuleName(name))
		}
		return made
	}
	ours, plain := made("prod"), made("prod-plain")
	ours.Retention, ours.Tags = 600, map[string]string{"team": "a", "aws:cloudformation:stack-name": "queue"}
	plain.Plain = true
	theirs := queue("interruptions", "Karpenter-spot", "interruptions-spot")
	theirs.Policy = `{"Statement":[]}`
	return []onboard.Queue{ours, plain, theirs, made("nonprod"), queue("staging", "staging-spot")}, nil
}

func (a account) Roles(ctx context.Context) ([]onboard.Role, error) {
	var out []onboard.Role
	for _, name := range []string{"reports", "exports", "shared", "other", "longer", "stacked", "guarded", "unbound", "barred"} {
		role, err := a.Role(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, role)
	}
	return out, nil
}

func (account) Role(_ context.Context, name string) (onboard.Role, error) {
	host := strings.TrimPrefix(issuer, "https://")
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"arn:aws:iam::123456789012:oidc-provider/` + host +
		`"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"` + host + `:aud":"sts.amazonaws.com","` + host + `:sub":"system:serviceaccount:reports:writer"}}}]}`
	role := onboard.Role{ARN: "arn:aws:iam::123456789012:role/" + name, Role: asset.Role{Name: name, Path: "/", MaxSession: 3600, Trust: trust}}
	switch name {
	case "reports":
		role.Inline = map[string]string{"write": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:PutObject"],"Resource":"arn:aws:s3:::reports/${aws:PrincipalTag/team}/*"}]}`}
		role.Attached, role.Tags, role.MaxSession = []string{"arn:aws:iam::aws:policy/ReadOnlyAccess"}, map[string]string{"team": "a"}, 7200
	case "exports":
		pods, err := policy.Trust{Cluster: clusterARN, Accounts: []policy.ServiceAccount{{Namespace: "reports", Name: "exporter"}}}.JSON()
		if err != nil {
			return role, err
		}
		role.Trust = pods
		role.Inline = map[string]string{"queue": `{"Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":["arn:aws:sqs:eu-west-1:123456789012:interruptions","arn:aws:sqs:eu-west-1:123456789012:prod"]}]}`}
	case "shared":
		role.Trust = strings.Replace(trust, "StringEquals", "StringLike", 1)
	case "other":
		role.Trust = strings.ReplaceAll(trust, "ABC", "XYZ")
	case "stacked": // by CloudFormation
		role.Tags = map[string]string{"aws:cloudformation:stack-name": "eksctl-prod", "team": "a"}
		role.Trust = strings.NewReplacer(`"Effect"`, `"Sid":"1","Effect"`, `"sts:AssumeRoleWithWebIdentity"`, `["sts:AssumeRoleWithWebIdentity"]`).Replace(trust)
	case "guarded":
		role.Trust = strings.Replace(trust, `"StringEquals"`, `"IpAddress":{"aws:SourceIp":"10.0.0.0/8"},"StringEquals"`, 1)
	case "unbound":
		role.Trust = strings.Replace(trust, `"`+host+`:aud":"sts.amazonaws.com",`, "", 1)
	case "barred":
		role.Trust = strings.Replace(trust, "Allow", "Deny", 1)
	case "longer":
		role.Trust = strings.ReplaceAll(trust, "ABC", "ABCD")
	}
	return role, nil
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFiles(t *testing.T) {
	var objects cluster
	for document := range strings.SplitSeq(string(read(t, "cluster.yaml")), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	found, err := onboard.Find(t.Context(), "prod", objects, account{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := onboard.Files(found)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range files {
		if *update {
			if err := os.WriteFile(filepath.Join("testdata", "want", name), got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(read(t, "want/"+name)), string(got)); diff != "" {
			t.Errorf("%s (-want +got; go test -update rewrites)\n%s", name, diff)
		}
	}
	if len(files) != 7 {
		t.Errorf("%d files", len(files))
	}
}

func TestWriteOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{"main.tf": []byte("a"), "other.tf": []byte("b")}
	if err := onboard.Write(dir, map[string][]byte{"other.tf": []byte("mine")}); err != nil {
		t.Fatal(err)
	}
	if err := onboard.Write(dir, files); err == nil || !strings.Contains(err.Error(), "other.tf already exists") {
		t.Errorf("error = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "main.tf")); err == nil {
		t.Error("main.tf was written")
	}
}
