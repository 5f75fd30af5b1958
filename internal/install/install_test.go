package install_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

var update = flag.Bool("update", false, "write what is rendered into testdata")

// full has a value for every setting.
var full = install.Settings{
	Namespace: "corral", Name: "muleteer", ClusterName: "prod", Region: "eu-west-1",
	RoleARN: "arn:aws:iam::123456789012:role/agents/packhorse", Queue: "interruptions", InstanceProfile: "prod-node",
	Endpoints: map[string]string{"sqs": "https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com", "ec2": "https://vpce-2.ec2.eu-west-1.vpce.amazonaws.com:443/"},
	Options:   map[string]string{"batch-idle": "2s", "log-level": "debug", "log-format": "text", "tag": "team=platform,stage=prod"},
	Image:     "registry.example.com:5000/tools/packhorse-agent:1.2.3@sha256:" + strings.Repeat("0a", 32), PullSecrets: []string{"registry"},
	Replicas: ptr.To[int32](3), CPURequest: "1", Memory: "1Gi", PriorityClassName: "important",
	NodeSelector: map[string]string{"eks.amazonaws.com/nodegroup": "system"},
	Tolerations: []corev1.Toleration{
		{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "system", Effect: corev1.TaintEffectNoSchedule},
		{Key: "spare", Operator: corev1.TolerationOpExists},
	},
	CABundle: "authorities", Environment: map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.0.0.0/8"},
}

func TestObjects(t *testing.T) {
	for name, settings := range map[string]install.Settings{
		"least": {ClusterName: "prod", OmitCRDs: true},
		"full":  full,
	} {
		t.Run(name, func(t *testing.T) {
			s := settings.Defaulted("1.2.3")
			s.OmitCRDs = true // which are in internal/api/crds
			if errs := s.Validate(); len(errs) > 0 {
				t.Fatal(errs)
			}
			objects, err := s.Objects()
			if err != nil {
				t.Fatal(err)
			}
			got, err := install.YAML(objects)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("rendered (-want +got), -update accepts it:\n%s", diff)
			}
		})
	}
}

// Definitions come first, then what the agent needs, and the agent last.
func TestOrder(t *testing.T) {
	s := full.Defaulted("1.2.3")
	objects, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.GetKind())
	}
	want := []string{
		"CustomResourceDefinition", "CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding",
		"Role", "RoleBinding", "NetworkPolicy", "PodDisruptionBudget", "Service", "Deployment",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	s.OmitCRDs, s.OmitNamespace, s.OmitNetworkPolicy = true, true, true
	objects, err = s.Objects()
	if err != nil || len(objects) != len(want)-4 {
		t.Errorf("%d objects without what is omitted, %v", len(objects), err)
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*install.Settings)
		want   string
	}{
		"no cluster":          {func(s *install.Settings) { s.ClusterName = "" }, "cluster_name: Required value: the agent needs the name"},
		"no name":             {func(s *install.Settings) { s.Namespace = "Big" }, `namespace: Invalid value: "Big": a lowercase RFC 1123 label`},
		"a queue's URL":       {func(s *install.Settings) { s.Queue = "https://sqs/1/q" }, "not its URL or ARN"},
		"a role's name":       {func(s *install.Settings) { s.RoleARN = "agent" }, `role_arn: Invalid value: "agent": must be the ARN`},
		"an unknown option":   {func(s *install.Settings) { s.Options = map[string]string{"batch_max": "1s"} }, `options: Invalid value: "batch_max": is not an option of the agent; did you mean "batch-max"?`},
		"an own option":       {func(s *install.Settings) { s.Options = map[string]string{"region": "x"} }, `options[region]: Invalid value: "x": has a setting of its own: set the region`},
		"a fixed option":      {func(s *install.Settings) { s.Options = map[string]string{"leader-elect": "false"} }, "is set by the installation"},
		"an option's value":   {func(s *install.Settings) { s.Options = map[string]string{"batch-max": "10"} }, `options[batch-max]: Invalid value: "10": must be a duration`},
		"memory":              {func(s *install.Settings) { s.Memory = "-1Gi" }, `memory: Invalid value: "-1Gi": must be a quantity from 64Mi to 1Ti, such as 512Mi`},
		"memory in bytes":     {func(s *install.Settings) { s.Memory = "512" }, `memory: Invalid value: "512": must be a quantity from 64Mi`},
		"milli for mega":      {func(s *install.Settings) { s.Memory = "512m" }, `memory: Invalid value: "512m"`},
		"hundreds of cores":   {func(s *install.Settings) { s.CPURequest = "500" }, `cpu_request: Invalid value: "500": must be a quantity from 1m to 64, such as 500m`},
		"a variable":          {func(s *install.Settings) { s.Environment = map[string]string{"A-B": ""} }, `environment: Invalid value: "A-B"`},
		"an endpoint's name":  {func(s *install.Settings) { s.Endpoints = map[string]string{"prcing": "https://a"} }, `endpoints: Invalid value: "prcing": is not an AWS service that the agent calls; did you mean "pricing"?`},
		"another service":     {func(s *install.Settings) { s.Endpoints = map[string]string{"dynamodb": "https://a"} }, "these are ec2, eks, iam, pricing, sqs, ssm, sts"},
		"an endpoint":         {func(s *install.Settings) { s.Endpoints = map[string]string{"ec2": "ec2.internal"} }, `endpoints[ec2]: Invalid value: "ec2.internal": must be the URL of an AWS service`},
		"a variable of ours":  {func(s *install.Settings) { s.Environment = map[string]string{"AWS_REGION": "x"} }, "is set by the installation: set region"},
		"a toleration of all": {func(s *install.Settings) { s.Tolerations = []corev1.Toleration{{}} }, "tolerations[0].key"},
		"a value to exist":    {func(s *install.Settings) { s.Tolerations = []corev1.Toleration{{Operator: "Exists", Value: "v"}} }, "tolerations[0].value"},
		"a toleration's key":  {func(s *install.Settings) { s.Tolerations = []corev1.Toleration{{Key: "a b", Operator: "Exists"}} }, `tolerations[0].key: Invalid value: "a b"`},
		"a toleration's mark": {func(s *install.Settings) { s.Tolerations = []corev1.Toleration{{Key: "a", Value: "b=c"}} }, `tolerations[0].value: Invalid value: "b=c"`},
		"a bundle's content":  {func(s *install.Settings) { s.CABundle = "-----BEGIN" }, `ca_bundle: Invalid value: "-----BEGIN"`},
		"an image":            {func(s *install.Settings) { s.Image = "UPPER" }, `image: Invalid value: "UPPER"`},
		"no replica":          {func(s *install.Settings) { s.Replicas = ptr.To[int32](0) }, "replicas: Invalid value: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := full.Defaulted("1.2.3")
			c.change(&s)
			if got := s.Validate().ToAggregate(); got == nil || !strings.Contains(got.Error(), c.want) {
				t.Errorf("errors %v, want %q", got, c.want)
			}
		})
	}
}

// What is installed can be read back: the settings that Parse finds render the
// same objects.
func TestParse(t *testing.T) {
	for name, settings := range map[string]install.Settings{
		"least": {ClusterName: "prod"}, "full": full, "a bundle without a role": {ClusterName: "prod", CABundle: "authorities"},
		"an own variable": {ClusterName: "prod", CABundle: "authorities", Environment: map[string]string{"AWS_CA_BUNDLE": "/own.pem"}},
		"without":         {ClusterName: "prod", OmitNamespace: true, OmitNetworkPolicy: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings.Defaulted("1.2.3")
			want, err := s.Objects()
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := install.Parse(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed.Objects()
			if err != nil {
				t.Fatal(err)
			}
			if diff := install.Differences(want, got); len(diff) > 0 {
				t.Errorf("read back: %v", diff)
			}
		})
	}
	if _, err := install.Parse(nil); err == nil {
		t.Error("nothing is taken for an installation")
	}
}

// What every installation has anyway may be declared too, and is not taken for a setting otherwise.
func TestParseKeepsWhatIsDeclared(t *testing.T) {
	anyway := install.Settings{
		ClusterName: "prod", NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
		Tolerations: []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}},
	}
	for name, settings := range map[string]install.Settings{"declared": anyway, "not declared": {ClusterName: "prod"}} {
		t.Run(name, func(t *testing.T) {
			s := settings.Defaulted("1.2.3")
			live, err := s.Objects()
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := install.Parse(live)
			if err != nil {
				t.Fatal(err)
			}
			got := parsed.InTermsOf(s)
			if !maps.Equal(got.NodeSelector, s.NodeSelector) || !slices.Equal(got.Tolerations, s.Tolerations) {
				t.Errorf("read back: selector %v, tolerations %v; declared: %v, %v", got.NodeSelector, got.Tolerations, s.NodeSelector, s.Tolerations)
			}
		})
	}
}

// Objects of others that have the names of the installation are none of it.
func TestParseLeavesOutObjectsOfOthers(t *testing.T) {
	s := full.Defaulted("1.2.3")
	live, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range live {
		if kind := o.GetKind(); kind == "Namespace" || kind == "NetworkPolicy" {
			live[i] = o.DeepCopy()
			live[i].SetLabels(map[string]string{"app": "theirs"})
		}
	}
	if got, err := install.Parse(live); err != nil || !got.OmitNamespace || !got.OmitNetworkPolicy {
		t.Errorf("parsed %+v, %v", got, err)
	}
}

// Only the Deployment says which role the agent assumes.
func TestParseIgnoresTheAnnotation(t *testing.T) {
	s := install.Settings{ClusterName: "prod"}.Defaulted("1.2.3")
	live, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	const role = "arn:aws:iam::123456789012:role/x"
	for _, o := range live {
		if o.GetKind() == "ServiceAccount" {
			o.SetAnnotations(map[string]string{install.RoleAnnotation: role})
		}
	}
	if got, err := install.Parse(live); err != nil || got.RoleARN != "" {
		t.Errorf("the role is %q, %v", got.RoleARN, err)
	}
	if got := install.AnnotatedRole(live); got != role {
		t.Errorf("the annotation names %q", got)
	}
}

func TestDifferences(t *testing.T) {
	s := full.Defaulted("1.2.3")
	declared, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	changed := full.Defaulted("1.2.3")
	changed.Replicas, changed.Queue = ptr.To[int32](1), "other"
	live, err := changed.Objects()
	if err != nil {
		t.Fatal(err)
	}
	live[0], live[3] = nil, live[3].DeepCopy()
	live[3].SetLabels(map[string]string{"added": "by others"})
	live[4].SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "packhorse-agent",
		"app.kubernetes.io/instance": "muleteer", "app.kubernetes.io/component": "agent", "app.kubernetes.io/part-of": "packhorse"})
	got := install.Differences(declared, live)
	want := []string{
		"CustomResourceDefinition awsnodetemplates.karpenter.k8s.aws is not there",
		`ServiceAccount muleteer: metadata.labels.app.kubernetes.io/component is null, declared is "agent"`,
		`ServiceAccount muleteer: metadata.labels.app.kubernetes.io/instance is null, declared is "muleteer"`,
		`ServiceAccount muleteer: metadata.labels.app.kubernetes.io/name is null, declared is "packhorse-agent"`,
		`ServiceAccount muleteer: metadata.labels.app.kubernetes.io/part-of is null, declared is "packhorse"`,
		"Deployment muleteer: spec.replicas is 1, declared is 3",
		`Deployment muleteer: spec.template.spec.containers[0].args[4] is "--interruption-queue=other", declared is "--interruption-queue=interruptions"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// Long texts, such as the descriptions in the definitions, are compared to their end, and shown where they differ.
func TestLongTextsDiffer(t *testing.T) {
	object := func(text string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{{Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"text": text}}}}
	}
	a, b := strings.Repeat("ä", 300), strings.Repeat("b", 300)
	for name, tt := range map[string]struct {
		declared, live string
		want           []string
	}{
		"nowhere":          {a, a, nil},
		"at the end":       {a + "x", a + "y", []string{`ConfigMap a: data.text is …` + a[:100] + `y", declared is …` + a[:100] + `x"`}},
		"in the middle":    {a + "x" + b, a + "y" + b, []string{`ConfigMap a: data.text is …` + a[:100] + `y` + b[:149] + `…, declared is …` + a[:100] + `x` + b[:149] + `…`}},
		"at the beginning": {"x" + b, "y", []string{`ConfigMap a: data.text is "y", declared is "x` + b[:198] + `…`}},
	} {
		if diff := cmp.Diff(tt.want, install.Differences(object(tt.declared), object(tt.live))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What an admission policy adds to lists that Kubernetes merges is neither a difference nor a setting.
func TestAdditionsAreNoDifferences(t *testing.T) {
	s := full.Defaulted("1.2.3")
	declared, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	live := make([]*unstructured.Unstructured, len(declared))
	for i, object := range declared {
		live[i] = object.DeepCopy()
	}
	at := slices.IndexFunc(live, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	spec := live[at].Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	agent := spec["containers"].([]any)[0].(map[string]any)
	first := func(of map[string]any, list string, added map[string]any) {
		elements, _ := of[list].([]any)
		of[list] = append([]any{added}, elements...)
	}
	first(spec, "initContainers", map[string]any{"name": "certificates"})
	first(spec, "containers", map[string]any{"name": "proxy"})
	first(spec, "volumes", map[string]any{"name": "authorities"})
	first(agent, "volumeMounts", map[string]any{"name": "authorities", "mountPath": "/etc/ssl/certs"})
	if got := install.Differences(declared, live); len(got) > 0 {
		t.Errorf("differences: %v", got)
	}
	parsed, err := install.Parse(live)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parsed.Objects(); err != nil || len(install.Differences(declared, again)) > 0 {
		t.Errorf("read back: %v, %v", err, install.Differences(declared, again))
	}
	agent["volumeMounts"] = slices.Delete(agent["volumeMounts"].([]any), 1, 2)
	const want = "Deployment muleteer: spec.template.spec.containers[0].volumeMounts[0] is null, declared is "
	if got := install.Differences(declared, live); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("without the mount of the token: %v, want %s...", got, want)
	}
}

// TestNeedsNoDNSOfTheCluster: CoreDNS itself may wait for a node that the agent has to buy.
func TestNeedsNoDNSOfTheCluster(t *testing.T) {
	s := full.Defaulted("1.2.3")
	if got := s.Deployment().Spec.Template.Spec.DNSPolicy; got != corev1.DNSDefault {
		t.Errorf("the agent resolves names with the policy %q, want %q", got, corev1.DNSDefault)
	}
}
