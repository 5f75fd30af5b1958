package decide

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func starting(n *cluster.Node) {
	n.Ready, n.Initialized, n.Created = false, false, noon.Add(-time.Minute)
	delete(n.Labels, api.LabelInitialized)
	n.Taints = append(n.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
}

func TestExistingNodeFacts(t *testing.T) {
	check(t, []fact{
		{id: "EXIST-001", given: func(w *world) {
			w.node("n", "small", "a", starting).running("old", "n", "requests: {cpu: 10m}").pods(1, "p", "requests: {cpu: 10m}")
		}, want: "n<-(p)"},
		{id: "EXIST-003", given: func(w *world) {
			w.node("n", "small", "a", nil).running("old", "n", "requests: {cpu: 1001m}").pods(1, "p", "requests: {cpu: 1}")
		}, want: "small(p)"},
		{id: "EXIST-005", given: func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) { n.Deleting = true }).pods(1, "p", "{}")
		}, want: "small(p)"},
		{id: "pods that stay on a node that is held after its machine has gone", given: func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) { n.Deleting, n.Provisioner, n.Ready = true, "", false }).running("r", "n", "{}")
		}, want: ""},
		{id: "pods on a node of others that is being deleted, and that nobody drains", given: func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) { ofOthers(n); n.Deleting = true }).running("r", "n", "{}")
		}, want: ""},
		{id: "EXIST-008", given: func(w *world) { w.node("n", "small", "a", starting).pods(1, "p", "{}") }, want: "n<-(p)"},
		{id: "EXIST-010", given: func(w *world) {
			w.provisioner("default", "startupTaints: [{key: foo.com/taint, effect: NoSchedule}]").node("n", "small", "a", func(n *cluster.Node) {
				starting(n)
				n.Taints = append(n.Taints, corev1.Taint{Key: "foo.com/taint", Effect: corev1.TaintEffectNoSchedule})
			}).pods(1, "p", "{}")
		}, want: "n<-(p)"},
		{id: "EXIST-012", given: func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) {
				for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, "node.cloudprovider.kubernetes.io/uninitialized"} {
					n.Taints = append(n.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
				}
			}).pods(1, "p", "requests: {cpu: 10m}")
		}, want: "n<-(p)"},
		{id: "EXIST-013", types: func() []offer.InstanceType { return []offer.InstanceType{size("big", 16, 16, 9)} }, given: func(w *world) {
			w.daemonSet("ds", "requests: {cpu: 1}").node("n", "big", "a", nil).running("ds-1", "n", "{owner: DaemonSet/ds, requests: {cpu: 1}}").pods(1, "p", "requests: {cpu: 14.9}")
		}, want: "n<-(p)"},
		{id: "EXIST-014", types: func() []offer.InstanceType { return []offer.InstanceType{size("big", 16, 16, 9)} }, given: func(w *world) {
			w.daemonSet("ds", "requests: {cpu: 1m}").node("n", "big", "a", nil).running("odd-1", "n", "{owner: DaemonSet/odd, requests: {cpu: 1}}").pods(1, "p", "requests: {cpu: 15.5}")
		}, want: "big(p)"},
		{id: "EXIST-018", given: func(w *world) {
			for i := range 100 {
				w.node(fmt.Sprintf("n%03d", i), "small", "a", func(n *cluster.Node) {
					if i != 57 {
						starting(n)
					}
				})
			}
			w.pods(1, "p", "{}")
		}, want: "n057<-(p)"},
		{id: "EXIST-019", types: func() []offer.InstanceType { return ladder(12) }, given: func(w *world) {
			w.node("n", "ladder-9", "a", ofOthers).pods(1, "p", "requests: {cpu: 10m}")
		}, want: "n<-(p)"},
		{id: "EXIST-021", given: func(w *world) {
			w.node("n", "std", "a", func(n *cluster.Node) { delete(n.Labels, api.LabelZone) }).pods(1, "p", requires("$zone In a"))
		}, want: "small(p)"},
		{id: "EXIST-022", given: func(w *world) {
			w.daemonSet("ds", "{requests: {cpu: 100, memory: 100Gi}, nodeSelector: {$zone: a}}").
				node("n", "small", "a", func(n *cluster.Node) { delete(n.Labels, api.LabelZone) }).pods(2, "p", "requests: {cpu: 1}")
		}, see: func(p Plan) string { return view(p, byZone) }, want: "a(p2), n<-(p1)"},
		{id: "a DaemonSet that a node cannot hold", given: func(w *world) {
			w.daemonSet("ds", "requests: {cpu: 3}").node("n", "small", "a", nil).pods(1, "p", "requests: {cpu: 1500m}")
		}, want: "n<-(p)"},
		{id: "EXIST-026", given: func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) { n.Deleting = true })
			for i := range 3 {
				w.running(fmt.Sprintf("r%d", i+1), "n", "{}")
			}
			w.pods(2, "p", "{}")
		}, want: "small(p1 p2 r1 from n r2 from n r3 from n)"},
		{id: "EXIST-029", given: func(w *world) {
			w.node("n", "small", "a", nil)
			p := w.pod("done", "requests: {cpu: 1.5}")
			p.Spec.NodeName, p.Status.Phase = "n", corev1.PodSucceeded
			w.add(p)
			w.pods(1, "p", "requests: {cpu: 1.5}")
		}, want: "n<-(p)"},
		{id: "EXIST-030", given: func(w *world) {
			w.node("n", "std", "a", nil).running("late", "n", "{requests: {cpu: 1}, ports: [{hostPort: 80}]}").
				pods(1, "p", "ports: [{hostPort: 80}]").pods(1, "q", "requests: {cpu: 3}").pods(1, "r", "{}")
		}, want: "std(p q), n<-(r)"},
		{id: "EXIST-030 with volumes", given: func(w *world) {
			w.storage("ebs", "", "one", "two").node("n", "std", "a", attach("ebs", 1)).running("late", "n", claim("one")).
				pods(1, "p", claim("two")).pods(1, "r", "{}").pods(1, "s", claim("one"))
		}, want: "small(p), n<-(r s)"},
		{id: "ELIG-005", given: func(w *world) {
			w.node("n", "small", "a", nil)
			p := w.pod("p", "requests: {cpu: 1.5}")
			p.Status.NominatedNodeName = "n"
			w.add(p)
			w.pods(1, "q", "requests: {cpu: 1.5}")
		}, want: "small(q)"},
	})
}

// storage adds claims that are bound to volumes of a driver in a zone.
func (w *world) storage(driver, zone string, claims ...string) *world {
	for _, name := range claims {
		v := cluster.Volume{Name: "pv-" + name, Driver: driver}
		if zone != "" {
			v.NodeAffinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: api.LabelZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}
		}
		w.in.Snapshot.Volumes = append(w.in.Snapshot.Volumes, v)
		w.in.Snapshot.Claims = append(w.in.Snapshot.Claims, cluster.Claim{Namespace: "default", Name: name, VolumeName: v.Name})
	}
	return w
}

// local adds a claim that is bound to a volume of one node.
func (w *world) local(node, name string) *world {
	w.storage("", node, name)
	v := &w.in.Snapshot.Volumes[len(w.in.Snapshot.Volumes)-1]
	v.Local = true
	v.NodeAffinity.NodeSelectorTerms[0].MatchExpressions[0].Key = api.LabelHostname
	return w
}

func (w *world) storageClass(c cluster.StorageClass, zones ...string) *world {
	c.WaitForFirstConsumer = true
	if len(zones) > 0 {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.ebs.csi.aws.com/zone", Values: zones}}}}
	}
	w.in.Snapshot.StorageClasses = append(w.in.Snapshot.StorageClasses, c)
	return w
}

func claim(names ...string) string {
	out := "volumes: ["
	for i, name := range names {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("{name: v%d, persistentVolumeClaim: {claimName: %s}}", i, name)
	}
	return out + "]"
}

func ephemeral(class string) string {
	spec := "{}"
	if class != "" {
		spec = "{storageClassName: " + class + "}"
	}
	return "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: " + spec + "}}}]"
}

func attach(driver string, n int64) func(*cluster.Node) {
	return func(node *cluster.Node) { node.VolumeLimits = map[string]int64{driver: n, "other": 10} }
}

func TestVolumeFacts(t *testing.T) {
	name := "s"
	zone := func(p Plan) string { return view(p, byZone) }
	check(t, []fact{
		{id: "VOL-001", given: func(w *world) { w.pods(1, "p", claim("gone")) }, want: "pending(p)"},
		{id: "VOL-003", given: func(w *world) { w.pods(1, "p", claim("gone")).pods(1, "q", "{}") }, want: "small(q), pending(p)"},
		{id: "ELIG-009", given: func(w *world) { w.pods(1, "p", claim("gone")).pods(1, "q", "{}") }, want: "small(q), pending(p)"},
		{id: "VOL-006", given: func(w *world) {
			w.storageClass(cluster.StorageClass{Name: name}, "b", "c")
			w.in.Snapshot.Claims = []cluster.Claim{{Namespace: "default", Name: "data", StorageClass: &name}}
			w.pods(1, "p", "{"+claim("data")+", "+requires("$zone In a c")+"}")
		}, see: zone, want: "c(p)"},
		{id: "VOL-011", given: func(w *world) {
			w.storageClass(cluster.StorageClass{Name: name}, "b", "c").pods(1, "p", "{"+ephemeral(name)+", "+requires("$zone In a")+"}")
		}, see: zone, want: "pending(p)"},
		{id: "VOL-014", given: func(w *world) {
			w.storage("ebs", "c", "data").pods(1, "p", "{"+claim("data")+", "+requires("example.com/label In unsupported", "OR", "$capacity In on-demand")+"}")
		}, see: zone, want: "c(p)"},
		{id: "VOL-017", given: func(w *world) {
			w.storage("ebs", "a", "one").storage("ebs", "b", "two").pods(1, "p", claim("one", "two"))
		}, see: zone, want: "pending(p)"},
		{id: "VOL-020", given: func(w *world) {
			w.local("n", "data").node("m", "std", "a", nil).node("n", "std", "a", nil).pods(1, "p", claim("data"))
		}, want: "n<-(p)"},
		{id: "VOL-020 for a node that goes", given: func(w *world) {
			w.local("n", "data").node("n", "std", "a", func(n *cluster.Node) { n.Deleting = true }).running("p", "n", claim("data"))
		}, want: "small(p from n)"},
		{id: "VOL-023", given: func(w *world) {
			w.storage("", "", "nfs").node("n", "std", "a", attach("ebs", 1)).pods(5, "p", claim("nfs", "nfs"))
		}, see: func(p Plan) string { return fmt.Sprint(len(p.Bindings)) }, want: "5"},
		{id: "VOL-024", given: func(w *world) {
			w.storageClass(cluster.StorageClass{Name: name, Driver: "ebs"}).node("n", "std", "a", attach("ebs", 1)).pods(2, "p", ephemeral(name))
		}, want: "small(p2), n<-(p1)"},
		{id: "VOL-025", given: func(w *world) {
			w.storageClass(cluster.StorageClass{Name: name, Driver: "ebs", Default: true}).node("n", "std", "a", attach("ebs", 1)).pods(2, "p", ephemeral(""))
		}, want: "small(p2), n<-(p1)"},
		{id: "VOL-026", given: func(w *world) {
			w.storageClass(cluster.StorageClass{Name: "new", Driver: "ebs", Default: true, Created: noon}).
				storageClass(cluster.StorageClass{Name: "old", Driver: "other", Default: true, Created: noon.Add(-time.Hour)}).
				node("n", "std", "a", attach("ebs", 1)).pods(2, "p", ephemeral(""))
		}, want: "small(p2), n<-(p1)"},
		{id: "VOL-027", given: func(w *world) { w.pods(1, "p", ephemeral("gone")) }, want: "pending(p)"},
		{id: "VOL-031 while the pod stops", given: func(w *world) {
			w.storage("ebs", "", "one", "two").node("n", "std", "a", attach("ebs", 1)).pods(1, "p", claim("two"))
			old, at := w.pod("old", claim("one")), deletedAt()
			old.Spec.NodeName, old.Status.Phase, old.DeletionTimestamp = "n", corev1.PodRunning, &at
			w.add(old)
		}, want: "small(p)"},
		{id: "VOL-031", given: func(w *world) {
			w.storage("ebs", "", "one", "two").node("n", "std", "a", attach("ebs", 1)).pods(1, "p", claim("two"))
		}, want: "n<-(p)"},
		{id: "one pod per claim", given: func(w *world) {
			w.storage("ebs", "", "data")
			w.in.Snapshot.Claims[0].AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			w.pods(2, "p", claim("data"))
		}, want: "small(p1), pending(p2)"},
	})
}

// removal is a fact about nodes that go.
type removal struct {
	id          string
	provisioner string
	given       func(*world)
	want        string
}

func seen(p Plan) string {
	out := ""
	for _, r := range p.Removals {
		out += fmt.Sprintf("%s %s %d; ", r.Reason, r.Node, len(r.Replacements))
	}
	for _, k := range p.Kept {
		out += fmt.Sprintf("keep %s; ", k.Node)
	}
	for _, m := range p.Emptiness {
		if m.Since.IsZero() {
			out += "unmark " + m.Node + "; "
		} else {
			out += "mark " + m.Node + "; "
		}
	}
	return out
}

func marked(ago time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Annotations[api.AnnotationEmptiness] = noon.Add(-ago).Format(time.RFC3339) }
}

func aged(age time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Created = noon.Add(-age) }
}

func TestRemovalFacts(t *testing.T) {
	built := func(change func(*api.Provisioner)) func(*world) {
		return func(w *world) {
			now := w.in.Provisioners[0].Spec
			then := now.DeepCopy()
			hash := then.Hash()
			change(now)
			w.node("n", "small", "a", func(n *cluster.Node) { n.Annotations[api.AnnotationProvisionerHash] = hash }).running("r", "n", "{}")
		}
	}
	// provisioning adds an empty node for which a volume is being made, with or without the pod that uses it.
	provisioning := func(used bool) func(*world) {
		return func(w *world) {
			class := "ebs"
			w.storageClass(cluster.StorageClass{Name: class, Driver: "ebs.csi.aws.com"}).node("n", "small", "a", marked(time.Minute))
			w.in.Snapshot.Claims = append(w.in.Snapshot.Claims, cluster.Claim{Namespace: "default", Name: "data", UID: "u", Selected: "n", StorageClass: &class})
			if used {
				p := w.pod("db-0", "owner: StatefulSet/db, "+claim("data"))
				p.Status.Conditions = nil
				w.add(p)
			}
		}
	}
	drifts := "disruption: {drift: true}"
	seconds := int64(77)
	weight := int32(5)
	for _, c := range []removal{
		{"DEPROV-001", "ttlSecondsAfterEmpty: 30", func(w *world) { w.node("n", "small", "a", marked(31*time.Second)) }, "emptiness n 0; "},
		{"DEPROV-001 begins", "ttlSecondsAfterEmpty: 30", func(w *world) { w.node("n", "small", "a", nil) }, "mark n; "},
		{"DISR-006", "{ttlSecondsAfterEmpty: 30, disruption: {budgets: [{nodes: '0', reasons: [drift]}]}}", func(w *world) { w.node("n", "small", "a", marked(31*time.Second)) }, "emptiness n 0; "},
		{"DEPROV-005", "{}", func(w *world) { w.node("n", "small", "a", nil) }, ""},
		{"DEPROV-006", "{}", func(w *world) { w.node("n", "small", "a", marked(time.Hour)) }, "unmark n; "},
		{"DEPROV-011", "ttlSecondsAfterEmpty: 30", func(w *world) { w.node("n", "small", "a", nil).pods(1, "p", "{}") }, ""},
		{"DEPROV-012", "ttlSecondsAfterEmpty: 30", func(w *world) {
			w.node("n", "small", "a", marked(time.Minute)).running("d", "n", "owner: DaemonSet/d").running("s", "n", "owner: Node/n").finished("f", "n", "owner: ReplicaSet/web")
		}, "emptiness n 0; "},
		{"DEPROV-013", "ttlSecondsAfterEmpty: 30", func(w *world) {
			p := w.pod("going", "owner: ReplicaSet/web")
			p.Spec.NodeName = "n"
			at := deletedAt()
			p.DeletionTimestamp = &at
			w.node("n", "small", "a", marked(time.Minute)).add(p)
		}, "emptiness n 0; "},
		{"kube-scheduler waits for a volume before it binds a pod", "ttlSecondsAfterEmpty: 30", provisioning(true), "unmark n; "},
		{"a volume is made for no pod", "ttlSecondsAfterEmpty: 30", provisioning(false), "emptiness n 0; "},
		{"DEPROV-015", "ttlSecondsAfterEmpty: 0", func(w *world) { w.node("n", "small", "a", nil) }, "emptiness n 0; "},
		{"DEPROV-017", "ttlSecondsAfterEmpty: 30", func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) {
				marked(time.Minute)(n)
				n.Annotations[api.AnnotationDoNotDisrupt] = "true"
			})
		}, "keep n; "},
		{"DEPROV-020", "{}", func(w *world) { w.node("n", "small", "a", aged(9999*time.Hour)).running("r", "n", "{}") }, ""},
		{"DEPROV-022", "ttlSecondsUntilExpired: 30", func(w *world) { w.node("n", "small", "a", aged(time.Minute)).running("r", "n", "{}") }, "expiry n 1; "},
		{"DEPROV-023", "ttlSecondsUntilExpired: 200", func(w *world) { w.node("n", "small", "a", aged(time.Minute)).running("r", "n", "{}") }, ""},
		{"DEPROV-027", "ttlSecondsUntilExpired: 30", func(w *world) {
			for i := range 5 {
				w.node(fmt.Sprintf("n%d", i), "small", "a", nil)
			}
		}, "expiry n0 0; expiry n1 0; expiry n2 0; expiry n3 0; expiry n4 0; "},
		{"DEPROV-031", "{ttlSecondsUntilExpired: 30, limits: {resources: {cpu: 100}}}", func(w *world) {
			w.node("n1", "std", "a", func(n *cluster.Node) {
				n.Allocatable = amount.List{amount.CPU: 150_000, amount.Memory: 1 << 40, amount.Pods: 10}
			}).
				running("huge", "n1", "requests: {cpu: 150}").node("n2", "small", "a", nil).running("little", "n2", "requests: {cpu: 1}")
		}, "expiry n2 1; keep n1; "},
		{"DEPROV-035", "{ttlSecondsUntilExpired: 30, consolidation: {enabled: true}}", func(w *world) { w.node("n", "small", "a", nil) }, "expiry n 0; "},
		{"DEPROV-036", "ttlSecondsUntilExpired: 30", func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) { starting(n); aged(time.Minute)(n) })
		}, ""},
		{"DEPROV-037", "{}", built(func(p *api.Provisioner) { p.Spec.Labels = map[string]string{"a": "b"} }), ""},
		{"DEPROV-047", drifts, built(func(p *api.Provisioner) { p.Spec.Labels = map[string]string{"a": "b"} }), "drift n 1; "},
		{"DEPROV-048", drifts, built(func(p *api.Provisioner) {
			p.Spec.Taints = []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}
		}), "drift n 1; "},
		{"DEPROV-049", drifts, built(func(p *api.Provisioner) {
			p.Spec.StartupTaints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}), "drift n 1; "},
		{"DEPROV-050", drifts, built(func(p *api.Provisioner) {
			p.Spec.KubeletConfiguration = &api.KubeletConfiguration{MaxPods: &weight}
		}), "drift n 1; "},
		{"DEPROV-051", drifts, built(func(p *api.Provisioner) { p.Spec.TTLSecondsAfterEmpty = &seconds }), ""},
		{"DEPROV-052", drifts, built(func(p *api.Provisioner) { long := seconds * 1e6; p.Spec.TTLSecondsUntilExpired = &long }), ""},
		{"DEPROV-054", drifts, built(func(p *api.Provisioner) { p.Spec.Limits = &api.Limits{} }), ""},
		{"DEPROV-055", drifts, built(func(p *api.Provisioner) { p.Spec.Weight = &weight }), ""},
		{"DEPROV-057", "{" + drifts + ", " + wants("$capacity In on-demand", "$os In linux") + "}", func(w *world) { w.node("n", "small", "a", nil) }, ""},
		{"DEPROV-059", "{" + drifts + ", " + wants("$os In windows") + "}", func(w *world) { w.node("n", "small", "a", nil) }, "drift n 0; "},
		{"DEPROV-060", "{" + drifts + ", " + wants("$os In linux windows") + "}", func(w *world) { w.node("n", "small", "a", nil) }, ""},
		{"DEPROV-061", "{" + drifts + ", " + wants("$os Exists") + "}", func(w *world) { w.node("n", "small", "a", nil) }, ""},
		{"DEPROV-041", "{" + drifts + ", " + wants("$zone In b") + "}", func(w *world) { w.node("n", "small", "a", nil).running("r", "n", "{}") }, "drift n 1; "},
		{"never up", "{}", func(w *world) {
			w.in.Settings.StartupTimeout = 15 * time.Minute
			w.node("n", "small", "a", func(n *cluster.Node) { starting(n); aged(16 * time.Minute)(n) })
		}, "never-up n 0; "},
		{"never initialized", "{}", func(w *world) {
			w.in.Settings.StartupTimeout = 15 * time.Minute
			w.node("n", "small", "a", func(n *cluster.Node) {
				aged(16 * time.Minute)(n)
				n.Initialized = false
				n.Taints = append(n.Taints, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule})
			})
		}, "never-up n 0; "},
		{"DISR-007, provisioner deleted", "disruption: {budgets: [{nodes: '0'}]}", func(w *world) {
			at := deletedAt()
			w.in.Provisioners[0].Spec.DeletionTimestamp = &at
			w.node("n", "small", "a", nil).running("r", "n", "labels: {app: x}")
		}, "provisioner-deleted n 0; "},
		{"do not evict", "ttlSecondsUntilExpired: 30", func(w *world) {
			w.node("n", "small", "a", nil).running("r", "n", "annotations: {karpenter.sh/do-not-evict: \"true\"}")
		}, "keep n; "},
		{"no controller", "ttlSecondsUntilExpired: 30", func(w *world) {
			w.node("n", "small", "a", nil)
			p := w.pod("r", "{}")
			p.Spec.NodeName = "n"
			w.add(p)
		}, "keep n; "},
		{"budget of pods", "ttlSecondsUntilExpired: 30", func(w *world) {
			w.node("n", "small", "a", nil).running("r", "n", "labels: {app: x}")
			w.in.Snapshot.PodDisruptionBudgets = []cluster.PodDisruptionBudget{{Namespace: "default", Name: "b", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}}
		}, "keep n; "},
		{"budget of nodes", "{ttlSecondsUntilExpired: 30, disruption: {budgets: [{nodes: 50%}]}}", func(w *world) {
			for i := range 4 {
				name := fmt.Sprintf("n%d", i)
				w.node(name, "small", "a", nil).running("r"+name, name, "requests: {cpu: 1.5}")
			}
		}, "expiry n0 1; expiry n1 1; keep n2; keep n3; "},
		{"default budget", "ttlSecondsUntilExpired: 30", func(w *world) {
			for i := range 11 {
				name := fmt.Sprintf("n%02d", i)
				w.node(name, "small", "a", nil).running("r"+name, name, "requests: {cpu: 1.5}")
			}
		}, "expiry n00 1; expiry n01 1; keep n02; keep n03; keep n04; keep n05; keep n06; keep n07; keep n08; keep n09; keep n10; "},
	} {
		t.Run(c.id, func(t *testing.T) {
			w := newWorld(t, catalogueA()).provisioner("default", c.provisioner)
			c.given(w)
			plan := w.decide()
			if got := seen(plan); got != c.want {
				t.Errorf("got %q, want %q\nremovals %+v\nkept %+v", got, c.want, plan.Removals, plan.Kept)
			}
			verify(t, &w.in, &plan)
		})
	}
}

func TestReplacementsAreLaunchedFirst(t *testing.T) { // DEPROV-029
	w := newWorld(t, []offer.InstanceType{size("eight", 8, 8, 10), size("three", 3, 4, 10)})
	for i := range w.types[0].Offerings {
		w.types[0].Offerings[i].Unavailable = "insufficient capacity"
	}
	w.provisioner("default", "ttlSecondsUntilExpired: 30").node("n", "eight", "a", nil)
	for i := range 3 {
		w.running(fmt.Sprintf("r%d", i), "n", "requests: {cpu: 2}")
	}
	plan := w.decide()
	if got, want := view(plan, byType), "three(r0 from n), three(r1 from n), three(r2 from n)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(plan.Removals) != 1 || len(plan.Removals[0].Replacements) != 3 {
		t.Errorf("got %+v", plan.Removals)
	}
}

// A device that has failed takes no room from pods that need none: those on nodes are exchanged until all have a place.
func TestExchangeBesideAFailedDevice(t *testing.T) {
	w := newWorld(t, []offer.InstanceType{sold("large", 8, 0.4)}).provisioner("default", "limits: {resources: {cpu: 1}}")
	of := func(cpu, memory int64) func(*cluster.Node) {
		return func(n *cluster.Node) {
			ofOthers(n)
			n.Allocatable = amount.List{amount.CPU: cpu * 1000, amount.Memory: memory << 30, amount.Pods: 50}
		}
	}
	w.node("n1", "large", "a", of(9, 27)).node("n2", "large", "a", of(6, 3))
	w.node("n3", "large", "a", func(n *cluster.Node) { of(0, 0)(n); n.Allocatable["nvidia.com/gpu"] = 1 })
	w.running("device", "n2", "limits: {nvidia.com/gpu: 1}")
	w.pods(1, "gpu", "limits: {nvidia.com/gpu: 1}")
	w.pods(1, "a", "requests: {cpu: 3, memory: 11Gi}").pods(1, "b", "requests: {cpu: 1, memory: 5Gi}")
	w.pods(1, "c", "requests: {cpu: 5, memory: 11Gi}").pods(1, "d", "requests: {cpu: 6, memory: 3Gi}")
	if plan := w.decide(); len(plan.Unplaced) > 0 {
		t.Errorf("not placed: %+v", plan.Unplaced)
	}
}
