package karpenter_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check"
)

const plainClass = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: a}
spec:
  instanceProfile: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
`

const plainPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`

func documentOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func serve(t *testing.T, text string) karpenter.Served {
	t.Helper()
	document := documentOf(t, text)
	if errs := check.Object(document).Errors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	served, err := karpenter.Serve([]map[string]any{document})
	if err != nil || len(served) != 1 {
		t.Fatalf("%v, %v", served, err)
	}
	return served[0]
}

// What an AWSNodeTemplate cannot say is served of an EC2NodeClass all the same, without
// a loss.
func TestServeClass(t *testing.T) {
	or := func(terms ...map[string]string) []map[string]string { return terms }
	plain := api.ClassTerms{Subnets: or(map[string]string{"a": "b"}), SecurityGroups: or(map[string]string{"a": "b"})}
	with := func(edit func(*api.ClassTerms)) api.ClassTerms {
		out := plain
		edit(&out)
		return out
	}
	no := false
	for name, c := range map[string]struct {
		old, new string
		want     api.ClassTerms
	}{
		"nothing more": {"", "", plain},
		"subnetSelectorTerms": {"subnetSelectorTerms: [{tags: {a: b}}]", "subnetSelectorTerms: [{tags: {a: b, c: d}}, {id: subnet-1}]", with(func(c *api.ClassTerms) {
			c.Subnets = or(map[string]string{"a": "b", "c": "d"}, map[string]string{"aws::ids": "subnet-1"})
		})},
		"securityGroupSelectorTerms": {"securityGroupSelectorTerms: [{tags: {a: b}}]", "securityGroupSelectorTerms: [{name: nodes}, {id: sg-1}]", with(func(c *api.ClassTerms) {
			c.SecurityGroups = or(map[string]string{"aws::group-name": "nodes"}, map[string]string{"aws::ids": "sg-1"})
		})},
		"amiSelectorTerms.alias": {"al2023@latest", "al2023@v20240807", with(func(c *api.ClassTerms) { c.ImageVersion = "v20240807" })},
		"amiSelectorTerms": {"amiSelectorTerms: [{alias: al2023@latest}]", "amiFamily: AL2023\n  amiSelectorTerms: [{name: mine, owner: self}, {ssmParameter: /p}]", with(func(c *api.ClassTerms) {
			c.Images = or(map[string]string{"aws::name": "mine", "aws::owners": "self"}, map[string]string{"aws::ssm-parameter": "/p"})
		})},
		"associatePublicIPAddress": {"instanceProfile: nodes", "instanceProfile: nodes\n  associatePublicIPAddress: false", with(func(c *api.ClassTerms) { c.PublicAddress = &no })},
		"capacityReservationSelectorTerms": {"instanceProfile: nodes", "instanceProfile: nodes\n  capacityReservationSelectorTerms: [{id: cr-1}, {tags: {a: b}, ownerID: '123456789012', instanceMatchCriteria: open}]", with(func(c *api.ClassTerms) {
			c.Reservations = or(map[string]string{"aws::ids": "cr-1"}, map[string]string{"a": "b", "aws::owner-id": "123456789012", "aws::instance-match-criteria": "open"})
		})},
		"role":                {"instanceProfile: nodes", "role: r", with(func(c *api.ClassTerms) { c.Role = "r" })},
		"role with a profile": {"instanceProfile: nodes", "role: r\nstatus: {instanceProfile: made}", with(func(c *api.ClassTerms) { c.Role = "r" })},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(plainClass, c.old, c.new, 1)
			if name == "role with a profile" { // the status comes last
				text = strings.Replace(plainClass, c.old, "role: r", 1) + "status: {instanceProfile: made}\n"
			}
			got := serve(t, text)
			if diff := cmp.Diff(&c.want, got.NodeTemplate.Spec.Class); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(got.Losses) > 0 || len(got.NodeTemplate.Source.Unsupported) > 0 {
				t.Errorf("losses %v, unsupported %v", got.Losses, got.NodeTemplate.Source.Unsupported)
			}
			if profile := got.NodeTemplate.Spec.InstanceProfile; name == "role with a profile" && (profile == nil || *profile != "made") {
				t.Errorf("instance profile %v", profile)
			}
		})
	}
}

// Karpenter makes an instance profile for each class, and deletes it with the class: none gets that of another one.
func TestServeInstanceProfilesOfOneRole(t *testing.T) {
	of := func(name, status string) map[string]any {
		text := strings.NewReplacer("instanceProfile: nodes", "role: r", "{name: a}", "{name: "+name+"}").Replace(plainClass)
		return documentOf(t, text+status)
	}
	served, err := karpenter.Serve([]map[string]any{of("a", "status: {instanceProfile: of-a}"), of("b", "status: {instanceProfile: of-b}"), of("c", "")})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range served {
		got[s.Name] = ptr.Deref(s.NodeTemplate.Spec.InstanceProfile, "")
	}
	if want := (map[string]string{"a": "of-a", "b": "of-b", "c": ""}); !maps.Equal(got, want) {
		t.Errorf("instance profiles %v, want %v", got, want)
	}
}

// What is not supported blocks the object, and the field is named.
func TestServeNamesWhatIsNotSupported(t *testing.T) {
	for field, text := range map[string]string{
		"spec.replicas":                                            plainPool + "  replicas: 2\n",
		"spec.template.spec.requirements[0].key":                   strings.Replace(plainPool, "kubernetes.io/arch", "karpenter.k8s.aws/instance-capability-flex", 1),
		"spec.kubelet.cpuManagerPolicy":                            plainClass + "  kubelet: {cpuManagerPolicy: static, maxPods: 5}\n",
		"spec.template.spec.kubelet.cpuManagerPolicy":              strings.Replace(strings.Replace(plainPool, "/v1", "/v1beta1", 1), "group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}", "name: a}\n      kubelet: {cpuManagerPolicy: static}", 1),
		"spec.subnetSelectorTerms with a comma":                    strings.Replace(plainClass, "subnetSelectorTerms: [{tags: {a: b}}]", "subnetSelectorTerms: [{tags: {a: 'b,c'}}]", 1),
		"spec.securityGroupSelectorTerms with a comma":             strings.Replace(plainClass, "securityGroupSelectorTerms: [{tags: {a: b}}]", "securityGroupSelectorTerms: [{name: 'web,db'}]", 1),
		"spec.placementGroupSelector":                              plainClass + "  placementGroupSelector: {name: near}\n",
		"spec.networkInterfaces":                                   plainClass + "  networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]\n",
		"spec.ipPrefixCount":                                       plainClass + "  ipPrefixCount: 2\n",
		"spec.connectionTracking":                                  plainClass + "  connectionTracking: {udpTimeout: 30}\n",
		"spec.cpuOptions":                                          plainClass + "  cpuOptions: {nestedVirtualization: enabled}\n",
		"spec.context":                                             plainClass + "  context: c\n",
		"spec.blockDeviceMappings[0].ebs.volumeInitializationRate": plainClass + "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {snapshotID: snap-1, volumeInitializationRate: 200}}]\n",
		"spec.amiSelectorTerms[0].alias":                           strings.Replace(plainClass, "al2023@", "windows2025@", 1),
		"spec.amiFamily":                                           plainClass + "  amiFamily: Custom\n",
	} {
		t.Run(field, func(t *testing.T) {
			got := serve(t, text)
			var source *api.Origin
			if got.Provisioner != nil {
				source = got.Provisioner.Source
			} else {
				source = got.NodeTemplate.Source
			}
			if len(source.Unsupported) != 1 || source.Unsupported[0].Path != field {
				t.Errorf("unsupported: %+v", source.Unsupported)
			}
		})
	}
}

// What a Provisioner and an AWSNodeTemplate can say too is served as it is written.
func TestServeAsWritten(t *testing.T) {
	nodes := func(line string) string {
		return strings.Replace(plainPool, "      requirements:", "      "+line+"\n      requirements:", 1)
	}
	for field, c := range map[string]struct{ text, want string }{
		"spec.template.metadata.labels":                {strings.Replace(plainPool, "    spec:\n", "    metadata: {labels: {team: a}}\n    spec:\n", 1), `"team":"a"`},
		"spec.template.metadata.annotations":           {strings.Replace(plainPool, "    spec:\n", "    metadata: {annotations: {note: a}}\n    spec:\n", 1), `"annotations":{"note":"a"}`},
		"spec.template.spec.requirements":              {strings.Replace(plainPool, "In, values: [amd64]", "NotIn, values: [arm64]", 1), `{"key":"kubernetes.io/arch","operator":"NotIn","values":["arm64"]}`},
		"spec.template.spec.requirements[0].minValues": {strings.Replace(plainPool, "In, values: [amd64]", "Exists, minValues: 2", 1), `{"key":"kubernetes.io/arch","operator":"Exists","minValues":2}`},
		"spec.template.spec.requirements[0].values":    {strings.Replace(plainPool, "In, values: [amd64]", "Exists, values: [amd64]", 1), `{"key":"kubernetes.io/arch","operator":"Exists"}`},
		"spec.template.spec.taints":                    {nodes("taints: [{key: a, value: b, effect: NoSchedule}]"), `"taints":[{"key":"a","value":"b","effect":"NoSchedule"}]`},
		"spec.template.spec.startupTaints":             {nodes("startupTaints: [{key: a, value: b, effect: NoExecute}]"), `"startupTaints":[{"key":"a","value":"b","effect":"NoExecute"}]`},
		"spec.template.spec.nodeClassRef":              {plainPool, `"providerRef":{"name":"a"}`},
		"spec.template.spec.expireAfter":               {nodes("expireAfter: 2h"), `"ttlSecondsUntilExpired":7200`},
		"spec.template.spec.terminationGracePeriod":    {nodes("terminationGracePeriod: 2h"), `"terminationGracePeriod":"2h0m0s"`},
		"spec.disruption.consolidationPolicy":          {plainPool + "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}\n", `"ttlSecondsAfterEmpty":30`},
		"spec.disruption.consolidateAfter":             {plainPool + "  disruption: {consolidateAfter: 5m}\n", `"consolidateAfter":"5m"`},
		"spec.disruption.budgets":                      {plainPool + "  disruption: {consolidateAfter: 5m, budgets: [{nodes: 20%, reasons: [Empty], schedule: '@daily', duration: 1h}]}\n", `"budgets":[{"nodes":"20%","schedule":"@daily","duration":"1h0m0s","reasons":["emptiness"]}]`},
		"spec.disruption.budgets[0].nodes":             {plainPool + "  disruption: {consolidateAfter: 5m, budgets: [{reasons: [Empty]}]}\n", `"budgets":[{"nodes":"10%","reasons":["emptiness"]}]`},
		"spec.limits":                                  {plainPool + "  limits: {cpu: 10}\n", `"limits":{"resources":{"cpu":"10"}}`},
		"spec.limits.nodes":                            {plainPool + "  limits: {nodes: 5}\n", `"limits":{"resources":{"nodes":"5"}}`},
		"spec.weight":                                  {plainPool + "  weight: 7\n", `"weight":7`},
		"spec.instanceProfile":                         {plainClass, `"instanceProfile":"nodes"`},
		"spec.amiFamily":                               {plainClass, `"amiFamily":"AL2023"`},
		"spec.userData":                                {plainClass + "  userData: hello\n", `"userData":"hello"`},
		"spec.tags":                                    {plainClass + "  tags: {team: a}\n", `"tags":{"team":"a"}`},
		"spec.detailedMonitoring":                      {plainClass + "  detailedMonitoring: true\n", `"detailedMonitoring":true`},
		"spec.instanceStorePolicy":                     {plainClass + "  instanceStorePolicy: RAID0\n", `"instanceStorePolicy":"RAID0"`},
		"spec.metadataOptions":                         {plainClass + "  metadataOptions: {httpTokens: optional, httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 2}\n", `"metadataOptions":{"httpEndpoint":"enabled","httpProtocolIPv6":"disabled","httpPutResponseHopLimit":2,"httpTokens":"optional"}`},
		"spec.blockDeviceMappings":                     {plainClass + "  blockDeviceMappings: [{deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 50Gi, volumeType: gp3, iops: 3000, throughput: 200, encrypted: true, kmsKeyID: k, snapshotID: snap-1, deleteOnTermination: false}}]\n", `"ebs":{"volumeSize":"50Gi","volumeType":"gp3","iops":3000,"throughput":200,"encrypted":true,"kmsKeyID":"k","snapshotID":"snap-1","deleteOnTermination":false}`},
	} {
		t.Run(field, func(t *testing.T) {
			got := serve(t, c.text)
			var spec any
			if got.Provisioner != nil {
				spec = got.Provisioner.Spec
			} else {
				spec = got.NodeTemplate.Spec
			}
			asJSON, err := json.Marshal(spec)
			if err != nil || !strings.Contains(string(asJSON), c.want) {
				t.Errorf("%s\nlacks %s; %v", asJSON, c.want, err)
			}
		})
	}
}

// Nodes have the labels by which Karpenter names what they belong to, so that pods and DaemonSets that
// select nodes by them count.
func TestServeLabels(t *testing.T) {
	pool := serve(t, plainPool).Provisioner
	want := map[string]string{"karpenter.sh/nodepool": "a", "karpenter.k8s.aws/ec2nodeclass": "a", "karpenter.sh/registered": "true"}
	if diff := cmp.Diff(want, pool.Spec.Labels); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, miss := match.Combined(pool, match.ForProvisioner(pool), match.Labels(want)); miss.Missed() {
		t.Errorf("a pod that selects nodes by them: %s", miss)
	}
}

// Machines are not bought for nodes that the API server would refuse.
func TestServeLabelsThatNodesCanHave(t *testing.T) {
	for _, length := range []int{63, 64, 253} {
		class := strings.Repeat("n", length)
		pool := serve(t, strings.Replace(plainPool, "kind: EC2NodeClass, name: a}", "kind: EC2NodeClass, name: "+class+"}", 1)).Provisioner
		if got := pool.Spec.ProviderRef.Name; got != class || len(pool.Source.Unsupported) > 0 {
			t.Errorf("the class is %s, and %v is not served", got, pool.Source.Unsupported)
		}
		if label, ok := pool.Spec.Labels[api.LabelNodeClass]; ok != (length <= 63) || len(validation.IsValidLabelValue(label)) > 0 {
			t.Errorf("a class whose name has %d characters: its label is %q", length, label)
		}
	}
}

// A budget for reasons that are not known holds for nothing: neither for all reasons nor, where it is
// the only one, in the place of the default one.
func TestServeBudgetsOfUnknownReasons(t *testing.T) {
	for budgets, want := range map[string][]api.Budget{
		"[{nodes: '0', reasons: [Unhealthy]}]":                                          {{Nodes: "100%"}},
		"[{nodes: '0', reasons: [Unhealthy]}, {nodes: 20%}]":                            {{Nodes: "20%"}},
		"[{nodes: '0', reasons: [Unhealthy, Drifted]}, {nodes: '1', reasons: [Empty]}]": {{Nodes: "0", Reasons: []string{"drift"}}, {Nodes: "1", Reasons: []string{"emptiness"}}},
	} {
		t.Run(budgets, func(t *testing.T) {
			got := serve(t, plainPool+"  disruption: {consolidateAfter: 5m, budgets: "+budgets+"}\n")
			if diff := cmp.Diff(want, got.Provisioner.Spec.Disruption.Budgets); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(got.Losses) != 1 || got.Losses[0].Path != "spec.disruption.budgets[0].reasons" || len(got.Provisioner.Source.Unsupported) > 0 {
				t.Errorf("losses %v, unsupported %v", got.Losses, got.Provisioner.Source.Unsupported)
			}
		})
	}
}

// A NodePool that Karpenter 1.0 has converted from v1beta1 keeps its kubelet settings in an annotation, which
// comes before its class.
func TestServeConvertedKubelet(t *testing.T) {
	const path = "metadata.annotations[compatibility.karpenter.sh/v1beta1-kubelet-conversion]"
	for settings, want := range map[string]int32{`{"maxPods":20}`: 20, `{"podsPerCore":2}`: 0, "": 42, `{"maxPods":"many"}`: -1, `{"maxPod":20}`: -1} {
		t.Run(settings, func(t *testing.T) {
			pool := strings.Replace(plainPool, "{name: a}", "{name: a, annotations: {compatibility.karpenter.sh/v1beta1-kubelet-conversion: '"+settings+"'}}", 1)
			served, err := karpenter.Serve([]map[string]any{documentOf(t, plainClass+"  kubelet: {maxPods: 42}\n"), documentOf(t, pool)})
			if err != nil {
				t.Fatal(err)
			}
			p := served[1].Provisioner
			if unsupported := p.Source.Unsupported; want < 0 && (len(unsupported) != 1 || unsupported[0].Path != path) || want >= 0 && len(unsupported) > 0 {
				t.Errorf("unsupported %+v", unsupported)
			}
			if got := p.Spec.KubeletConfiguration; want >= 0 && (got == nil || ptr.Deref(got.MaxPods, 0) != want) {
				t.Errorf("settings %+v, want %d pods", got, want)
			}
		})
	}
}

// An empty list of budgets is no limit. Only without a list, the default one holds.
func TestServeEmptyBudgets(t *testing.T) {
	for budgets, want := range map[string][]api.Budget{", budgets: []": {{Nodes: "100%"}}, ", budgets: null": {{Nodes: "10%"}}, "": {{Nodes: "10%"}}} {
		t.Run(budgets, func(t *testing.T) {
			got := serve(t, plainPool+"  disruption: {consolidateAfter: 5m"+budgets+"}\n")
			if diff := cmp.Diff(want, got.Provisioner.Spec.Disruption.Budgets); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(got.Losses) > 0 {
				t.Errorf("losses %v", got.Losses)
			}
		})
	}
}

// A pool has the kubelet settings of its class.
func TestServeKubelet(t *testing.T) {
	var documents []map[string]any
	const settings = `{"clusterDNS":["10.0.0.1"],"systemReserved":{"cpu":"1"},"kubeReserved":{"memory":"1Gi"},"evictionHard":{"memory.available":"5%"},` +
		`"evictionSoft":{"memory.available":"6%"},"evictionSoftGracePeriod":{"memory.available":"1m0s"},"evictionMaxPodGracePeriod":60,` +
		`"imageGCHighThresholdPercent":80,"imageGCLowThresholdPercent":70,"cpuCFSQuota":false,"podsPerCore":5,"maxPods":42}`
	for _, text := range []string{plainPool, plainClass + "  kubelet: " + settings + "\n"} {
		documents = append(documents, documentOf(t, text))
	}
	served, err := karpenter.Serve(documents)
	if err != nil || len(served) != 2 {
		t.Fatal(served, err)
	}
	for _, s := range served {
		if s.Provisioner == nil {
			continue
		}
		if got, err := json.Marshal(s.Provisioner.Spec.KubeletConfiguration); err != nil || string(got) != settings {
			t.Errorf("kubelet %s, want %s; %v", got, settings, err)
		}
	}
}

// A NodePool that does not speak of the operating system buys that of its class.
func TestServeWindows(t *testing.T) {
	class := strings.Replace(plainClass, "al2023@", "windows2022@", 1)
	linux := strings.Replace(plainPool, "key: kubernetes.io/arch, operator: In, values: [amd64]", "key: kubernetes.io/os, operator: In, values: [linux]", 1)
	for name, c := range map[string]struct {
		pool, class string
		want        []string
	}{
		"Windows":              {plainPool, class, []string{"windows"}},
		"the NodePool says so": {linux, class, []string{"linux"}},
		"Linux":                {plainPool, plainClass, []string{"linux"}},
	} {
		t.Run(name, func(t *testing.T) {
			served, err := karpenter.Serve([]map[string]any{documentOf(t, c.pool), documentOf(t, c.class)})
			if err != nil || len(served) != 2 {
				t.Fatalf("%v, %v", served, err)
			}
			var got []string
			for _, r := range served[1].Provisioner.Defaulted().Spec.Requirements {
				if r.Key == api.LabelOS {
					got = append(got, r.Values...)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("operating systems %q, want %q", got, c.want)
			}
		})
	}
}

// The capacity type of reservations is served among others, alone, and where a NodePool does
// not speak of capacity types. A Provisioner that is made of it does not have it.
// A NodePool that may buy from capacity reservations alone buys nothing if its class selects
// none, which is said.
func TestServeReservedAlone(t *testing.T) {
	pool := strings.Replace(plainPool, "key: kubernetes.io/arch, operator: In, values: [amd64]", "key: karpenter.sh/capacity-type, operator: In, values: [reserved]", 1)
	for name, c := range map[string]struct {
		pool, class string
		lost        bool
	}{
		"none selected":  {pool, plainClass, true},
		"some selected":  {pool, plainClass + "  capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]\n", false},
		"others allowed": {plainPool, plainClass, false},
	} {
		t.Run(name, func(t *testing.T) {
			var documents []map[string]any
			for _, text := range []string{c.pool, c.class} {
				documents = append(documents, documentOf(t, text))
			}
			served, err := karpenter.Serve(documents)
			if err != nil || len(served) != 2 {
				t.Fatalf("%v, %v", served, err)
			}
			var paths []string
			for _, s := range served {
				for _, loss := range s.Losses {
					paths = append(paths, loss.Path)
				}
			}
			if got := slices.Contains(paths, "spec.template.spec.requirements"); got != c.lost {
				t.Errorf("losses at %q, want one of the requirements: %t", paths, c.lost)
			}
		})
	}
}

func TestServeReserved(t *testing.T) {
	for values, want := range map[string][]string{
		"key: karpenter.sh/capacity-type, operator: In, values: [reserved, on-demand]": {"reserved", "on-demand"},
		"key: karpenter.sh/capacity-type, operator: In, values: [reserved]":            {"reserved"},
		"key: kubernetes.io/arch, operator: In, values: [amd64]":                       {"spot", "on-demand", "reserved"},
	} {
		pool := serve(t, strings.Replace(plainPool, "key: kubernetes.io/arch, operator: In, values: [amd64]", values, 1)).Provisioner
		i := slices.IndexFunc(pool.Spec.Requirements, func(r api.Requirement) bool { return r.Key == api.LabelCapacityType })
		if got := pool.Spec.Requirements[i].Values; len(pool.Source.Unsupported) > 0 || !cmp.Equal(got, want) {
			t.Errorf("%s: values %v, unsupported %+v", values, got, pool.Source.Unsupported)
		}
		pool.Source, pool.Spec.Labels = nil, nil
		if errs := validate.ProvisionerErrors(pool); len(errs) == 0 {
			t.Errorf("%s: a Provisioner may have them", values)
		}
	}
}
