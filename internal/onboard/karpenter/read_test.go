package karpenter_test

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// What people have in their files and no API server would take is never converted without
// a word.
func TestReadNamesWhatIsWrong(t *testing.T) {
	const pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
	const nodes = "spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}, "
	const class = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: c}\nspec:\n  instanceProfile: nodes\n  amiSelectorTerms: [{alias: al2023@latest}]\n  subnetSelectorTerms: [{tags: {a: b}}]\n  securityGroupSelectorTerms: [{tags: {a: b}}]\n"
	for name, c := range map[string]struct{ text, loss, skipped, failed string }{
		"no spec":       {pool, "spec: is required", "", ""},
		"too few":       {pool + nodes + "requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5], minValues: 2}]}}}", "spec.template.spec.requirements[0].minValues: ", "", ""},
		"unknown field": {pool + nodes + "requirements: [], requirement: [x]}}}", "spec.template.spec.requirement: ", "", ""},
		"twice":         {pool + nodes + "requirements: []}}}\n---\n" + pool + nodes + "requirements: []}}}\n---\n" + class, "", "NodePool a: appears twice", ""},
		"a name twice":  {"apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {weight: 3}\n---\n" + pool + nodes + "requirements: []}}}", "", "NodePool a (karpenter.sh/v1): is skipped, because Provisioner a has this name too", ""},
		"classes twice": {"{apiVersion: karpenter.k8s.aws/v1alpha1, kind: AWSNodeTemplate, metadata: {name: a}, spec: {}}\n---\n{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: a}, spec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}}", "spec.role", "AWSNodeTemplate a: is skipped, because EC2NodeClass a (karpenter.k8s.aws/v1) has this name too", ""},
		"a key twice":   {pool + nodes + "requirements: [], requirements: []}}}", "", "", `read document 1, line 4: is not valid YAML from this line on: key "requirements" already set in map`},
		"twice in JSON": {`{"kind": "NodePool", "kind": "NodePool"}`, "", "", `read document 1: duplicate field "kind"`},
		"a setting":     {strings.Replace(pool, "/v1", "/v1beta1", 1) + "spec: {template: {spec: {nodeClassRef: {name: c}, requirements: [], kubelet: {cpuManagerPolicy: static}}}}", "spec.template.spec.kubelet.cpuManagerPolicy: ", "", ""},
		"a template":    {strings.Replace(pool, "name: a", "name: {{ .Values.name }}", 1), "", "", "holds the template {{ .Values.name }}"},
		"annotations":   {strings.Replace(pool, "{name: a}", "{name: a, annotations: {argocd.argoproj.io/sync-options: Prune=false, karpenter.sh/nodepool-hash: '1'}}", 1) + nodes + "requirements: []}}}", "metadata.annotations: are not converted, so that tools such as Argo CD or Flux do not find them: argocd.argoproj.io/sync-options", "", ""},
		"labels":        {"apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a, labels: {team: a}}\nspec: {weight: 3}\n", "metadata.labels: are not converted", "", ""},
		"of Karpenter":  {strings.Replace(pool, "{name: a}", "{name: a, annotations: {compatibility.karpenter.sh/a: a, karpenter.k8s.aws/b: b, kubectl.kubernetes.io/last-applied-configuration: c}}", 1) + nodes + "requirements: []}}}\n---\n" + class, "", "", ""},
		"no class":      {pool + nodes + "requirements: []}}}", "spec.template.spec.nodeClassRef: the EC2NodeClass c is not there to convert", "", ""},
		"no pool":       {class + "  kubelet: {maxPods: 20}\n", "spec.kubelet: no NodePool is there to convert that uses the class", "", ""},
		"both":          {class + "  kubelet: {maxPods: 20}\n---\n" + pool + nodes + "requirements: []}}}", "", "", ""},
		"another group": {strings.Replace(pool, "karpenter.sh", "karpenter.k8s.aws", 1), "", "NodePool a: cannot be read in the version karpenter.k8s.aws/v1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects, skipped, err := karpenter.Read([]byte(c.text))
			if c.failed != "" {
				if err == nil || !strings.Contains(err.Error(), c.failed) {
					t.Errorf("error %v, want %s", err, c.failed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			losses := ""
			for _, o := range objects {
				losses += o.Losses.Error()
			}
			if !strings.Contains(losses, c.loss) || c.loss == "" && losses != "" || !strings.Contains(strings.Join(skipped, "\n"), c.skipped) {
				t.Errorf("losses %q, skipped %q", losses, skipped)
			}
		})
	}
}
