package match

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func TestTolerates(t *testing.T) {
	taint := corev1.Taint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}
	for name, c := range map[string]struct {
		toleration corev1.Toleration
		want       bool
	}{
		"equal":                     {corev1.Toleration{Key: "k", Value: "v", Operator: corev1.TolerationOpEqual, Effect: corev1.TaintEffectNoSchedule}, true},
		"equal is the default":      {corev1.Toleration{Key: "k", Value: "v"}, true},
		"another value":             {corev1.Toleration{Key: "k", Value: "w"}, false},
		"another effect":            {corev1.Toleration{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}, false},
		"another key":               {corev1.Toleration{Key: "l", Operator: corev1.TolerationOpExists}, false},
		"exists":                    {corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists}, true},
		"everything":                {corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		"no key needs exists":       {corev1.Toleration{Value: "v"}, false},
		"an operator not supported": {corev1.Toleration{Key: "k", Value: "1", Operator: "Gt"}, false},
	} {
		if got := cluster.Tolerates(&c.toleration, &taint); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestPreferNoSchedule(t *testing.T) {
	taints := []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}
	if taint := Untolerated(taints, nil, false); taint != nil {
		t.Errorf("a preference keeps the pod away: %v", taint)
	}
	if taint := Untolerated(taints, nil, true); taint != &taints[0] {
		t.Errorf("got %v, want the preference that is to be honoured", taint)
	}
}

func TestLastingTaints(t *testing.T) {
	taints := []corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: "startup", Effect: corev1.TaintEffectNoSchedule},
		{Key: "own", Effect: corev1.TaintEffectNoSchedule},
	}
	others := []corev1.Taint{
		{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoSchedule},
		{Key: "readiness.k8s.io/network", Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
		{Key: "unknown", Effect: corev1.TaintEffectNoSchedule},
	}
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	for name, c := range map[string]struct {
		node cluster.Node
		want []corev1.Taint
	}{
		"not up yet":                           {cluster.Node{Taints: taints}, taints[2:]},
		"a startup taint that came back stays": {cluster.Node{Taints: taints, Initialized: true}, taints[1:]},
		"a cordon is a taint":                  {cluster.Node{Unschedulable: true}, []corev1.Taint{cordon}},
		"a cordon with its taint":              {cluster.Node{Unschedulable: true, Taints: []corev1.Taint{cordon}}, []corev1.Taint{cordon}},
		"taints of others while it boots":      {cluster.Node{Taints: others}, nil},
		"those that go once its kubelet runs":  {cluster.Node{Taints: others, Ready: true}, others[3:]},
		"taints of others that come back stay": {cluster.Node{Taints: others, Ready: true, Initialized: true}, others},
	} {
		of := &api.Provisioner{Spec: api.ProvisionerSpec{Taints: taints[2:], StartupTaints: taints[1:2]}}
		if diff := cmp.Diff(c.want, Lasting(&c.node, of)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func selector(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
}

func term(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func TestPlaces(t *testing.T) {
	zones := []Requirements{{{Key: api.LabelZone, Set: labelset.Only("a", "b")}}}
	for name, c := range map[string]struct {
		template cluster.Template
		volumes  []Requirements
		want     []string
		miss     string
	}{
		"nothing": {volumes: []Requirements{nil}, want: []string{""}},
		"aliases": {
			template: cluster.Template{NodeSelector: map[string]string{"beta.kubernetes.io/arch": "arm64"}},
			volumes:  []Requirements{nil}, want: []string{api.LabelArch + " In [arm64]"},
		},
		"terms are alternatives, each with the volumes' place": {
			template: cluster.Template{Affinity: selector(term(api.LabelZone, "In", "b", "c"), term("team", "Exists"))},
			volumes:  zones, want: []string{api.LabelZone + " In [b]", "team Exists; " + api.LabelZone + " In [a, b]"},
		},
		"the node's name": {
			template: cluster.Template{Affinity: selector(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n1"}}}})},
			volumes:  []Requirements{nil}, want: []string{NodeNameField + " In [n1]"},
		},
		"an empty term": {
			template: cluster.Template{Affinity: selector(corev1.NodeSelectorTerm{})},
			volumes:  []Requirements{nil}, miss: "node affinity term is empty and matches no node",
		},
		"a bad bound": {
			template: cluster.Template{Affinity: selector(term("n", "Gt", "x"))},
			volumes:  []Requirements{nil}, miss: `node affinity on n: operator Gt takes an integer, not "x"`,
		},
		"a value that no label can have": {
			template: cluster.Template{Affinity: selector(term("team", "In", "a", "a --b=c"))},
			volumes:  []Requirements{nil}, miss: `node affinity on team: no label can have the value "a --b=c"`,
		},
		"not a value that no label can have": {
			template: cluster.Template{Affinity: selector(term("team", "NotIn", "a b"))},
			volumes:  []Requirements{nil}, miss: `node affinity on team: no label can have the value "a b"`,
		},
		"another term than one with a value that no label can have": {
			template: cluster.Template{Affinity: selector(term("team", "In", "a b"), term("team", "In", ""))},
			volumes:  []Requirements{nil}, want: []string{`team In [""]`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			places, miss := Places(&c.template, c.volumes)
			if miss.Missed() != (c.miss != "") || miss.Missed() && miss.String() != c.miss {
				t.Fatalf("got miss %q, want %q", miss, c.miss)
			}
			var got []string
			for _, p := range places {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestPreferencesForNoLabel: a value that no label can have must not become a node's label.
func TestPreferencesForNoLabel(t *testing.T) {
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
		{Weight: 1, Preference: term("team", "In", "a b")}, {Weight: 2, Preference: term("team", "In", "c")},
	}}}
	got := Preferences(affinity)
	if len(got) != 1 || got[0].Requirements.String() != "team In [c]" {
		t.Errorf("got %v", got)
	}
}

func TestCombined(t *testing.T) {
	p := &api.Provisioner{}
	p.Name = "default"
	p.Spec.Requirements = []api.Requirement{
		{Key: api.LabelZone, Operator: api.OpIn, Values: []string{"a", "b"}},
		{Key: "team", Operator: api.OpExists},
	}
	p.Spec.PodOverrides = []string{api.LabelZone}
	has := ForProvisioner(p)
	for name, c := range map[string]struct {
		pod  Requirements
		want string
		miss string
	}{
		"a pod's own selector replaces an overridable one": {pod: Requirements{{Key: api.LabelZone, Set: labelset.Only("z")}}, want: api.LabelZone + " In [z]"},
		"a pod chooses the value of a custom label":        {pod: Requirements{{Key: "team", Set: labelset.Only("x")}}, want: "team In [x]"},
		"an undefined label that may be missing":           {pod: Requirements{{Key: "other", Set: notIn(t, "x")}}, want: "other DoesNotExist"},
		"an undefined label":                               {pod: Requirements{{Key: "other", Set: labelset.Only("x")}}, miss: `does not define the label "other"`},
		"what a node gets once it is up":                   {pod: Requirements{{Key: api.LabelInitialized, Set: labelset.Only("true")}}},
		"another value of that":                            {pod: Requirements{{Key: api.LabelInitialized, Set: labelset.Only("x")}}, miss: "cannot give nodes the label karpenter.sh/initialized In [x]: it is in the reserved domain karpenter.sh"},
		"a restricted label": {
			pod:  Requirements{{Key: "kubernetes.io/mine", Set: labelset.Only("x")}},
			miss: "cannot give nodes the label kubernetes.io/mine In [x]: it is in the reserved domain kubernetes.io",
		},
		"another provisioner": {
			pod:  Requirements{{Key: api.LabelProvisioner, Set: labelset.Only("other")}},
			miss: "requires karpenter.sh/provisioner-name In [default], the pod requires In [other]",
		},
		"any host name":          {pod: Requirements{{Key: api.LabelHostname, Set: labelset.Any()}}, want: api.LabelHostname + " " + labelset.Set{}.String()},
		"any host name but some": {pod: Requirements{{Key: api.LabelHostname, Set: notIn(t, "n1")}}, want: api.LabelHostname + " " + labelset.Set{}.String()},
		"no host name": {
			pod:  Requirements{{Key: api.LabelHostname, Set: labelset.Missing()}},
			miss: "cannot give nodes the label kubernetes.io/hostname DoesNotExist: it is different on every node",
		},
		"a host name": {
			pod:  Requirements{{Key: api.LabelHostname, Set: labelset.Only("n1")}},
			miss: "cannot give nodes the label kubernetes.io/hostname In [n1]: it is different on every node",
		},
		"a node's name": {pod: Requirements{{Key: NodeNameField, Set: labelset.Only("n1")}}, miss: "cannot give a machine a name, and the pod requires a node with metadata.name In [n1]"},
	} {
		t.Run(name, func(t *testing.T) {
			got, miss := Combined(p, has, c.pod)
			if miss.Missed() != (c.miss != "") || miss.Missed() && miss.String() != c.miss {
				t.Fatalf("got miss %q, want %q", miss, c.miss)
			}
			if c.want == "" {
				return
			}
			set, _ := got.Get(c.pod[0].Key)
			if have := (Requirements{{Key: c.pod[0].Key, Set: set}}).String(); have != c.want {
				t.Errorf("got %s, want %s", have, c.want)
			}
		})
	}
}

func notIn(t *testing.T, value string) labelset.Set {
	t.Helper()
	out, err := labelset.New(api.OpNotIn, []string{value})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNode(t *testing.T) {
	n := &cluster.Node{Name: "n1", Labels: map[string]string{"team": "a"}}
	for name, c := range map[string]struct {
		requires Requirements
		want     bool
	}{
		"the value":           {Requirements{{Key: "team", Set: labelset.Only("a", "b")}}, true},
		"another value":       {Requirements{{Key: "team", Set: labelset.Only("b")}}, false},
		"a label it lacks":    {Requirements{{Key: "tier", Set: labelset.Any()}}, false},
		"a label it may lack": {Requirements{{Key: "tier", Set: notIn(t, "x")}}, true},
		"its name":            {Requirements{{Key: NodeNameField, Set: labelset.Only("n1")}}, true},
		"another name":        {Requirements{{Key: NodeNameField, Set: labelset.Only("n2")}}, false},
	} {
		if miss, ok := Node(c.requires, n); ok != c.want {
			t.Errorf("%s: got %v (%v)", name, ok, miss)
		}
	}
}

func TestVolumeNeeds(t *testing.T) {
	slow, gone, late := "slow", "gone", "late"
	zone := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term(api.LabelZone, "In", "a")}}
	local := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term(api.LabelHostname, "In", "n1")}}
	s := &cluster.Snapshot{
		Claims: []cluster.Claim{
			{Namespace: "d", Name: "anew", UID: "2", VolumeName: "theirs"},
			{Namespace: "d", Name: "binding", VolumeName: "free", Binding: true},
			{Namespace: "d", Name: "disk", VolumeName: "pv"},
			{Namespace: "d", Name: "doomed", VolumeName: "free", Deleting: true},
			{Namespace: "d", Name: "dropped", VolumeName: "pv", Lost: true},
			{Namespace: "d", Name: "going", VolumeName: "going"},
			{Namespace: "d", Name: "lost", VolumeName: "none"},
			{Namespace: "d", Name: "scratch", VolumeName: "scratch", StorageClass: &late},
			{Namespace: "d", Name: "scratch-going", VolumeName: "scratch", StorageClass: &late, Deleting: true},
			{Namespace: "d", Name: "selected", StorageClass: &late, Selected: "n1"},
			{Namespace: "d", Name: "selected-going", StorageClass: &late, Selected: "n2"},
			{Namespace: "d", Name: "selected-gone", StorageClass: &late, Selected: "n0"},
			{Namespace: "d", Name: "soon", StorageClass: &slow},
			{Namespace: "d", Name: "theirs", VolumeName: "taken"},
			{Namespace: "d", Name: "typo", StorageClass: &gone},
			{Namespace: "d", Name: "unnamed"},
		},
		Nodes: []cluster.Node{{Name: "n1"}, {Name: "n2", Deleting: true}},
		Volumes: []cluster.Volume{
			{Name: "free", Driver: "ebs"},
			{Name: "going", Driver: "ebs", Deleting: true},
			{Name: "pv", NodeAffinity: local, Driver: "ebs", Local: true, Claim: cluster.ClaimKey{Namespace: "d", Name: "disk", UID: "1"}},
			{Name: "scratch", NodeAffinity: zone, Driver: "ebs"},
			{Name: "taken", Claim: cluster.ClaimKey{Namespace: "other", Name: "disk"}},
			{Name: "theirs", Claim: cluster.ClaimKey{Namespace: "d", Name: "anew", UID: "1"}},
		},
		StorageClasses: []cluster.StorageClass{{Name: "late", Driver: "ebs", WaitForFirstConsumer: true}, {Name: "slow", Driver: "ebs"}},
	}
	for name, c := range map[string]struct {
		claim     string
		ephemeral *string // the class of an ephemeral volume
		moving    bool
		want      string
		miss      string
	}{
		"an ephemeral volume":            {claim: "scratch", ephemeral: &late, want: api.LabelZone + " In [a]"},
		"one of a pod that moves":        {claim: "scratch", ephemeral: &late, moving: true, want: ""},
		"one that goes with its pod":     {claim: "scratch-going", ephemeral: &late, moving: true, want: ""},
		"one of another class that goes": {claim: "scratch", ephemeral: &slow, moving: true, want: ""},
		"a volume in the making":         {claim: "selected", want: NodeNameField + " In [n1]"},
		"one of a pod that leaves":       {claim: "selected", moving: true, want: ""},
		"for a node that is gone":        {claim: "selected-gone", want: ""},
		"for a node that goes":           {claim: "selected-going", want: ""},
		"a local volume":                 {claim: "disk", want: api.LabelHostname + " In [n1]"},
		"a local volume is left behind":  {claim: "disk", moving: true, want: ""},
		"a volume that goes":             {claim: "going", want: ""},
		"one that goes under a pod":      {claim: "going", moving: true, miss: "persistent volume going of claim d/going is being deleted"},
		"a claim that is being deleted":  {claim: "doomed", miss: "persistent volume claim d/doomed is being deleted"},
		"a claim that is not bound yet":  {claim: "binding", miss: "persistent volume claim d/binding is not bound yet to its volume free"},
		"a claim that is lost":           {claim: "dropped", miss: "persistent volume claim d/dropped is lost: its volume pv is gone or belongs to another claim"},
		"a volume of another claim":      {claim: "theirs", miss: "persistent volume taken of claim d/theirs belongs to claim other/disk"},
		"a volume of the claim before":   {claim: "anew", miss: "persistent volume theirs of claim d/anew belongs to an earlier claim d/anew"},
		"a volume that is gone":          {claim: "lost", miss: "persistent volume none of claim d/lost does not exist"},
		"a claim that is gone":           {claim: "nope", miss: "persistent volume claim d/nope does not exist"},
		"a class that is gone":           {claim: "typo", miss: "storage class gone of persistent volume claim typo does not exist"},
		"a class that does not wait":     {claim: "soon", miss: "persistent volume claim soon is not bound yet, and its storage class slow does not wait for a node"},
		"no class and no default either": {claim: "unnamed", miss: "persistent volume claim unnamed names no storage class, and there is no default"},
	} {
		t.Run(name, func(t *testing.T) {
			ref := cluster.ClaimRef{Name: c.claim, Ephemeral: c.ephemeral != nil, StorageClass: c.ephemeral}
			needs, miss := NewVolumes(s).Needs(&cluster.Template{Namespace: "d", Claims: []cluster.ClaimRef{ref}}, c.moving)
			if miss.Missed() != (c.miss != "") || miss.Missed() && miss.String() != c.miss {
				t.Fatalf("got miss %q, want %q", miss, c.miss)
			}
			if c.miss == "" && (len(needs.Places) != 1 || needs.Places[0].String() != c.want || needs.Attach["ebs"] != 1) {
				t.Errorf("got %+v", needs)
			}
		})
	}
}

// TestCombinationsOfPlaces: those that contradict each other, or are the same, are none.
func TestCombinationsOfPlaces(t *testing.T) {
	s := &cluster.Snapshot{StorageClasses: []cluster.StorageClass{{Name: "zonal", Default: true, WaitForFirstConsumer: true}}}
	affinity := &corev1.NodeSelector{}
	want := []string{}
	for i := range 20 {
		zone := fmt.Sprint("zone-", i)
		want = append(want, api.LabelZone+" In ["+zone+"]")
		affinity.NodeSelectorTerms = append(affinity.NodeSelectorTerms, term(api.LabelZone, "In", zone))
		s.StorageClasses[0].AllowedTopologies = append(s.StorageClasses[0].AllowedTopologies, corev1.TopologySelectorTerm{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: api.LabelZone, Values: []string{zone}}},
		})
	}
	pod := &cluster.Template{
		Namespace: "d", Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: affinity}},
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Claims = append(s.Claims, cluster.Claim{Namespace: "d", Name: name})
		pod.Claims = append(pod.Claims, cluster.ClaimRef{Name: name})
	}
	needs, miss := NewVolumes(s).Needs(pod, false)
	if miss.Missed() {
		t.Fatalf("the volumes miss: %s", miss)
	}
	places, miss := Places(pod, needs.Places)
	if miss.Missed() {
		t.Fatalf("the pod misses: %s", miss)
	}
	for _, of := range [][]Requirements{needs.Places, places} {
		got := []string{}
		for _, r := range of {
			got = append(got, r.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

// TestAttachedVolumesOfClaimsThatAreDeleted: their volumes are attached until their pods have stopped.
func TestAttachedVolumesOfClaimsThatAreDeleted(t *testing.T) {
	s := &cluster.Snapshot{
		Claims:  []cluster.Claim{{Namespace: "d", Name: "doomed", VolumeName: "pv", Deleting: true}},
		Volumes: []cluster.Volume{{Name: "pv", Driver: "ebs"}},
	}
	if got := NewVolumes(s).Attached(&cluster.Template{Namespace: "d", Claims: []cluster.ClaimRef{{Name: "doomed"}}}); got.Attach["ebs"] != 1 {
		t.Errorf("got %+v", got)
	}
}

// A node of ours lacks the label that says that it is up for a short time only, and a node of others may do so for ever.
func TestNodeThatIsNotInitialized(t *testing.T) {
	ours := map[string]string{api.LabelProvisioner: "default"}
	for name, c := range map[string]struct {
		labels map[string]string
		set    labelset.Set
		want   bool
	}{
		"once it is up":        {ours, labelset.Only("true"), true},
		"as long as it is not": {ours, labelset.Missing(), true},
		"with another value":   {ours, labelset.Only("false"), false},
		"on a node of others":  {nil, labelset.Only("true"), false},
	} {
		if got := Meets(Requirements{{Key: api.LabelInitialized, Set: c.set}}, &cluster.Node{Name: "n", Labels: c.labels}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
