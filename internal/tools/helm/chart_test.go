package helm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

const folder = "../../install/chart/packhorse-agent"

func load(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// render returns what Helm would apply, by kind and name.
func render(c *chart.Chart, namespace, release string, values map[string]any) (map[string]map[string]any, error) {
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]any{}
	for _, text := range files {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			return nil, err
		}
		if len(object) > 0 {
			out[title(object)] = object
		}
	}
	return out, nil
}

func title(object map[string]any) string {
	return object["kind"].(string) + " " + object["metadata"].(map[string]any)["name"].(string)
}

// The chart installs what the agent prints and the Terraform resource applies.
func TestSameObjects(t *testing.T) {
	for name, c := range map[string]struct {
		settings install.Settings
		values   string
	}{
		"least": {
			install.Settings{Namespace: "packhorse", ClusterName: "prod", OmitNamespace: true},
			"clusterName: prod\ncrds: {keep: false}",
		},
		"full": {
			install.Settings{
				OmitNamespace: true, Namespace: "corral", Name: "muleteer", ClusterName: "prod", Region: "eu-west-1", RoleARN: "arn:aws:iam::123456789012:role/packhorse",
				Queue: "interruptions", InstanceProfile: "prod-node",
				Endpoints: map[string]string{"ec2": "https://vpce-1.ec2.eu-west-1.vpce.amazonaws.com", "sqs": "https://replaced", "sts": "https://sts.example.com:443/"},
				Options:   map[string]string{"batch-idle": "2s", "node-cost": "0.25", "efa": "true", "tag": "team=platform,stage=prod"},
				Image:     "registry.example.com:5000/tools/packhorse-agent:1.2.3@sha256:" + strings.Repeat("0a", 32), PullSecrets: []string{"one", "two"},
				Replicas: ptr.To[int32](3), CPURequest: "1", Memory: "1Gi", PriorityClassName: "important",
				NodeSelector: map[string]string{"eks.amazonaws.com/nodegroup": "system", "a": "true", "account": "123456789012"},
				Tolerations: []corev1.Toleration{
					{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "system", Effect: corev1.TaintEffectNoSchedule},
					{Key: "spare", Operator: corev1.TolerationOpExists},
				},
				CABundle:    "authorities",
				Environment: map[string]string{"AWS_ENDPOINT_URL_SQS": "https://queues", "HTTPS_PROXY": "http://proxy:3128", "VERBOSE": "true", "GOMEMLIMIT": "450000000"},
			},
			`
clusterName: prod
region: eu-west-1
roleArn: arn:aws:iam::123456789012:role/packhorse
interruptionQueue: interruptions
defaultInstanceProfile: prod-node
options: {batch-idle: 2s, node-cost: 0.25, efa: true, tag: "team=platform,stage=prod"}
image: {repository: "registry.example.com:5000/tools/packhorse-agent", tag: 1.2.3, digest: "sha256:` + strings.Repeat("0a", 32) + `"}
imagePullSecrets: [one, two]
replicas: 3
cpuRequest: 1
memory: 1Gi
priorityClassName: important
nodeSelector: {eks.amazonaws.com/nodegroup: system, a: true, account: "123456789012"}
tolerations:
  - {key: dedicated, operator: Equal, value: system, effect: NoSchedule}
  - {key: spare, operator: Exists}
endpoints: {ec2: "https://vpce-1.ec2.eu-west-1.vpce.amazonaws.com", sqs: "https://replaced", sts: "https://sts.example.com:443/"}
caBundle: authorities
environment: {AWS_ENDPOINT_URL_SQS: "https://queues", HTTPS_PROXY: "http://proxy:3128", VERBOSE: true, GOMEMLIMIT: "450000000"}
crds: {keep: false}`,
		},
		"a bundle without a role": {
			install.Settings{Namespace: "packhorse", ClusterName: "prod", OmitNamespace: true, CABundle: "authorities", Environment: map[string]string{"AWS_CA_BUNDLE": "/own.pem"}},
			"clusterName: prod\ncaBundle: authorities\nenvironment: {AWS_CA_BUNDLE: /own.pem}\ncrds: {keep: false}",
		},
		"without": {
			install.Settings{Namespace: "kube-system", ClusterName: "prod", OmitNamespace: true, OmitCRDs: true, OmitNetworkPolicy: true},
			"clusterName: prod\nnetworkPolicy: false\ncrds: {install: false}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := load(t)
			settings := c.settings.Defaulted(loaded.AppVersion())
			if errs := settings.Validate(); len(errs) > 0 {
				t.Fatal(errs)
			}
			objects, err := settings.Objects()
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]map[string]any{}
			for _, o := range objects {
				want[title(o.Object)] = plain(t, o.Object)
			}
			var values map[string]any
			if err := yaml.Unmarshal([]byte(c.values), &values); err != nil {
				t.Fatal(err)
			}
			got, err := render(loaded, settings.Namespace, settings.Name, values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects (-installed otherwise +by Helm):\n%s", diff)
			}
		})
	}
}

// plain gives numbers the types that YAML gives them.
func plain(t *testing.T, object map[string]any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDefinitionsAreKept(t *testing.T) {
	got, err := render(load(t), "packhorse", "packhorse-agent", map[string]any{"clusterName": "prod"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws"} {
		metadata := got["CustomResourceDefinition "+name]["metadata"].(map[string]any)
		want := map[string]any{
			"helm.sh/resource-policy": "keep", "argocd.argoproj.io/sync-options": "Prune=false", "kustomize.toolkit.fluxcd.io/prune": "disabled",
		}
		if diff := cmp.Diff(want, metadata["annotations"]); diff != "" {
			t.Errorf("%s would go on uninstall, or when it is pruned: -want +got\n%s", name, diff)
		}
	}
}

// A chart with this one as a dependency turns it on and off by the value enabled.
func TestDependency(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		parent := &chart.Chart{Metadata: &chart.Metadata{
			APIVersion: "v2", Name: "platform", Version: "1.0.0",
			Dependencies: []*chart.Dependency{{Name: "packhorse-agent", Version: ">=0.0.0-0", Condition: "packhorse-agent.enabled"}},
		}}
		parent.AddDependency(load(t))
		values := map[string]any{"packhorse-agent": map[string]any{"enabled": enabled, "clusterName": "prod"}}
		if err := chartutil.ProcessDependenciesWithMerge(parent, values); err != nil {
			t.Fatal(err)
		}
		got, err := render(parent, "packhorse", "platform", values)
		if err != nil {
			t.Fatal(err)
		}
		if _, installed := got["Deployment platform"]; installed != enabled {
			t.Errorf("enabled is %t, and the chart has %d objects", enabled, len(got))
		}
	}
}

func TestLint(t *testing.T) {
	for _, message := range lint.All(folder, map[string]any{"clusterName": "prod"}, "packhorse", true).Messages {
		if message.Severity > support.InfoSev {
			t.Errorf("helm lint: %s", message)
		}
	}
}

func TestSchema(t *testing.T) {
	loaded := load(t)
	for values, want := range map[string]string{
		"{}":                            "clusterName",
		"{clusterName: x, replicas: 0}": "replicas",
		"{clusterName: x, replcas: 2}":  "replcas",
		"{clusterName: x, options: {batchIdle: 1s}}":                     "batchIdle",
		"{clusterName: x, options: {reserved-enis: -5}}":                 "/options/reserved-enis",
		"{clusterName: x, options: {vm-memory-overhead-percent: 0.075}}": "/options/vm-memory-overhead-percent",
		"{clusterName: x, options: {node-cost: -0.5}}":                   "/options/node-cost",
		"{clusterName: x, options: {startup-timeout: -15m}}":             "/options/startup-timeout",
		"{clusterName: x, options: {unhealthy-after: -1m}}":              "/options/unhealthy-after",
		"{clusterName: x, options: {log-level: warning}}":                "/options/log-level",
		"{clusterName: x, options: {efa: 'yes'}}":                        "/options/efa",
		"{clusterName: x, options: {node-pools: 1}}":                     "/options/node-pools",
		"{clusterName: x, roleArn: agent}":                               "roleArn",
		"{clusterName: x, crds: false}":                                  "crds",
		// YAML makes numbers of these, which Helm would write as 4.5e+08, 1.1 and 1.23e+11.
		"{clusterName: x, environment: {GOMEMLIMIT: 450000000}}":    "/environment/GOMEMLIMIT",
		"{clusterName: x, environment: {AWS_REGION: eu-west-1}}":    "AWS_REGION",
		"{clusterName: x, environment: {AWS_ROLE_ARN: x}}":          "AWS_ROLE_ARN",
		"{clusterName: x, environment: {POD_NAME: x}}":              "POD_NAME",
		"{clusterName: x, environment: {PACKHORSE_LOG_LEVEL: x}}":   "PACKHORSE_LOG_LEVEL",
		"{clusterName: x, environment: {HTTP-PROXY: x}}":            "HTTP-PROXY",
		"{clusterName: x, nodeSelector: {version: 1.10}}":           "/nodeSelector/version",
		"{clusterName: x, options: {scheduler-name: 123000000000}}": "/options/scheduler-name",
	} {
		var given map[string]any
		if err := yaml.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		if _, err := render(loaded, "packhorse", "packhorse-agent", given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("values %s: error %v, want one that names %s", values, err, want)
		}
	}
	all := map[string]any{}
	for _, name := range install.OptionNames() {
		r, ranged := install.RangeOf(name)
		switch choices := install.ChoicesOf(name); {
		case len(choices) > 0:
			all[name] = choices[0]
		case !ranged:
			all[name] = "1"
		case r.Duration:
			all[name] = "1m"
		default:
			all[name] = r.Most
		}
	}
	if _, err := render(loaded, "packhorse", "packhorse-agent", map[string]any{"clusterName": "x", "options": all}); err != nil {
		t.Errorf("all options %v: %v", slices.Sorted(maps.Keys(all)), err)
	}
}
