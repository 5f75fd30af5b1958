package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const autoModePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: auto}
spec:
  template:
    spec:
      nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
      requirements: [{key: eks.amazonaws.com/instance-category, operator: In, values: [c]}]
`

// TestConvert compares what convert writes with testdata/convert.*.
func TestConvert(t *testing.T) {
	for _, form := range []string{"yaml", "hcl"} {
		t.Run(form, func(t *testing.T) {
			got, err := execute(t, convertCommand(), "-o", form, "-f", "testdata/nodepools.yaml", file(t, "other.yaml", simpleDeployment+"---"+autoModePool+"---"+simpleProvisioner))
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			golden := filepath.Join("testdata", "convert."+form+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-update writes %s anew (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// What neither a Provisioner nor an AWSNodeTemplate can say is a loss, also where the agent
// serves it of a NodePool or an EC2NodeClass as it is.
func TestConvertNamesEachLoss(t *testing.T) {
	const text = `
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {name: a}
      kubelet: {maxPods: 20, cpuManagerPolicy: static}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [reserved, spot]}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: a, labels: {team: a}, annotations: {argocd.argoproj.io/sync-options: Prune=false, karpenter.k8s.aws/ec2nodeclass-hash: "1"}}
spec:
  role: nodes
  associatePublicIPAddress: false
  amiSelectorTerms: [{alias: bottlerocket@v1.20.3}]
  subnetSelectorTerms: [{tags: {a: b}}, {id: subnet-1}]
  securityGroupSelectorTerms: [{name: nodes}]
`
	got, err := execute(t, convertCommand(), "-f", file(t, "a.yaml", text))
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, path := range []string{
		"metadata.annotations", "metadata.labels", "spec.role", "spec.associatePublicIPAddress", "spec.amiSelectorTerms[0].alias", "spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms",
		"spec.template.spec.requirements[0].values", "spec.template.spec.kubelet.cpuManagerPolicy",
	} {
		if !strings.Contains(got, "# Lost: "+path) {
			t.Errorf("%s is lost without a word:\n%s", path, got)
		}
	}
	if strings.Contains(got, "cpuManagerPolicy: static") {
		t.Errorf("what is lost is written:\n%s", got)
	}
}

func TestConvertRefuses(t *testing.T) {
	broken := strings.ReplaceAll(autoModePool, "requirements", "requirement")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no file":            {nil, "name files with -f"},
		"an unknown output":  {[]string{"-o", "xml", "-f", "x"}, `output "xml" is not known`},
		"nothing to convert": {[]string{"-f", file(t, "a.yaml", simpleDeployment)}, "neither a NodePool nor an EC2NodeClass to convert"},
		"an empty file":      {[]string{"-f", "testdata/nodepools.yaml", "-f", file(t, "b.yaml", "# nothing\n")}, "the file is empty; it should hold NodePools or EC2NodeClasses"},
		"an empty List":      {[]string{"-f", file(t, "list.yaml", simpleList)}, "neither a NodePool nor an EC2NodeClass to convert"},
		"a broken rule":      {[]string{"-f", file(t, "a.yaml", broken)}, "spec.template.spec.requirements: is required"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := execute(t, convertCommand(), c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q\n%s", err, c.want, out)
			}
		})
	}
}

// A NodePool is checked as its own API server checks it: unknown and misplaced fields
// are shown without a flag, and its mistakes are errors.
func TestValidateNodePools(t *testing.T) {
	const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  replicas: 2
  template:
    spec:
      kubelet: {maxPods: 5}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirments: []
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`
	for name, c := range map[string]struct {
		text   string
		fails  bool
		wanted []string
	}{
		"unknown and misplaced fields": {pool, false, []string{
			"a.yaml:9: document 1: NodePool a: spec.template.spec.kubelet: unknown field, ignored; it belongs to an EC2NodeClass, at spec.kubelet",
			"spec.template.spec.requirments: unknown field, ignored; did you mean requirements?",
			"spec.replicas: a fixed number of nodes is not supported",
			"checked 1 object: 0 errors, ",
		}},
		"requirements that contradict each other": {strings.ReplaceAll(pool, "[amd64]}]", "[amd64]}, {key: kubernetes.io/arch, operator: In, values: [arm64]}]"), false, []string{
			"spec.template.spec.requirements[1]: Invalid value: \"kubernetes.io/arch\": no value can meet this and spec.template.spec.requirements[0]; change one of them",
		}},
		"a broken rule":             {strings.ReplaceAll(pool, "replicas: 2", "weight: 0"), true, []string{"a.yaml:6: document 1: NodePool a: spec.weight: 0 is not from 1 to 100"}},
		"another controller's":      {autoModePool, false, []string{"its nodes are those of NodeClass default of eks.amazonaws.com, so Packhorse does not serve it"}},
		"a version nobody can read": {strings.ReplaceAll(pool, "sh/v1", "sh/v3"), true, []string{"only NodePool a (its apiVersion is none of karpenter.sh/v1 and karpenter.sh/v1beta1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "a.yaml", c.text)
			out, err := execute(t, validateCommand(), "-f", path)
			if (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
			for _, want := range c.wanted {
				if !strings.Contains(strings.ReplaceAll(out, filepath.Dir(path)+"/", ""), want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

// A simulation answers with machines of the NodePool, or says why there are none.
func TestSimulateNodePools(t *testing.T) {
	web := file(t, "web.yaml", simpleDeployment)
	out, err := execute(t, simulateCommand(), "--region", "us-east-1", "-f", "testdata/nodepools.yaml", "-f", web)
	if err != nil || !strings.Contains(out, "general") || strings.Contains(out, "is assumed") || !strings.Contains(out, "3 of 4 pods placed") {
		t.Errorf("error %v:\n%s", err, out)
	}
	chosen := file(t, "chosen.yaml", strings.ReplaceAll(simpleDeployment, "      containers:", "      nodeSelector: {karpenter.sh/nodepool: general}\n      containers:"))
	out, err = execute(t, simulateCommand(), "--region", "us-east-1", "-f", "testdata/nodepools.yaml", "-f", chosen)
	if err != nil || !strings.Contains(out, "3 of 4 pods placed") {
		t.Errorf("pods that select the NodePool: error %v:\n%s", err, out)
	}
	if out, err = execute(t, simulateCommand(), "--region", "us-east-1", "-f", file(t, "auto.yaml", autoModePool), "-f", web); err == nil {
		t.Errorf("a NodePool of another controller is answered with a plan:\n%s", out)
	}
	static := strings.ReplaceAll(autoModePool, "eks.amazonaws.com, kind: NodeClass", "karpenter.k8s.aws, kind: EC2NodeClass")
	static = strings.ReplaceAll(static, "\nspec:", "\nspec:\n  replicas: 3")
	out, err = execute(t, simulateCommand(), "--region", "us-east-1", "-f", file(t, "static.yaml", static), "-f", web)
	if err != nil || !strings.Contains(out, "spec.replicas: a fixed number of nodes is not supported") || !strings.Contains(out, "0 of 4 pods placed") {
		t.Errorf("error %v:\n%s", err, out)
	}
}
