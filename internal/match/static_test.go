package match

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// TestStaticClaims has claims of a class for which nobody makes volumes: they find one
// that exists, or say what the nearest lacks.
func TestStaticClaims(t *testing.T) {
	class := "static"
	rwo, rwx := corev1.ReadWriteOnce, corev1.ReadWriteMany
	in := func(zone string) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term(api.LabelZone, "In", zone)}}
	}
	volume := func(change func(*cluster.Volume)) cluster.Volume {
		v := cluster.Volume{Name: "v", StorageClass: class, Capacity: 10, AccessModes: []corev1.PersistentVolumeAccessMode{rwo}, NodeAffinity: in("a"), Labels: map[string]string{"tier": "fast"}}
		change(&v)
		return v
	}
	const none = "persistent volume claim d/data needs an existing volume, because storage class static does not provision volumes, and "
	for name, c := range map[string]struct {
		claim  cluster.Claim
		volume func(*cluster.Volume)
		want   string
		miss   string
	}{
		"one that fits":     {volume: func(*cluster.Volume) {}, want: api.LabelZone + " In [a]"},
		"set aside for it":  {volume: func(v *cluster.Volume) { v.Claim = cluster.ClaimKey{Namespace: "d", Name: "data"}; v.Capacity = 1 }, want: api.LabelZone + " In [a]"},
		"set aside":         {volume: func(v *cluster.Volume) { v.Claim = cluster.ClaimKey{Namespace: "d", Name: "other"} }, miss: none + "none of that class is available"},
		"released":          {volume: func(v *cluster.Volume) { v.Unavailable = true }, miss: none + "none of that class is available"},
		"another class":     {volume: func(v *cluster.Volume) { v.StorageClass = "other" }, miss: none + "there is no volume of that class"},
		"too small":         {volume: func(v *cluster.Volume) { v.Capacity = 9 }, miss: none + "none that is available is as large"},
		"another mode":      {volume: func(v *cluster.Volume) { v.Block = true }, miss: none + "none that is available has volumeMode Filesystem"},
		"for one node only": {claim: cluster.Claim{AccessModes: []corev1.PersistentVolumeAccessMode{rwo, rwx}}, volume: func(*cluster.Volume) {}, miss: none + "none that is available has accessModes ReadWriteOnce, ReadWriteMany"},
		"another label": {
			claim:  cluster.Claim{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "slow"}}},
			volume: func(*cluster.Volume) {}, miss: none + "none that is available matches its selector tier=slow",
		},
		"anywhere": {volume: func(v *cluster.Volume) { v.NodeAffinity = nil }, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.claim.Namespace, c.claim.Name, c.claim.UID, c.claim.StorageClass, c.claim.Request = "d", "data", "1", &class, 10
			s := &cluster.Snapshot{
				Claims: []cluster.Claim{c.claim}, Volumes: []cluster.Volume{volume(c.volume)},
				StorageClasses: []cluster.StorageClass{{Name: class, Static: true, WaitForFirstConsumer: true}},
			}
			needs, miss := NewVolumes(s).Needs(&cluster.Template{Namespace: "d", Claims: []cluster.ClaimRef{{Name: "data"}}}, false)
			if miss.Missed() != (c.miss != "") || miss.Missed() && miss.String() != c.miss {
				t.Fatalf("got miss %q, want %q", miss, c.miss)
			}
			if !miss.Missed() && (len(needs.Places) != 1 || needs.Places[0].String() != c.want) {
				t.Errorf("got %v, want %s", needs.Places, c.want)
			}
		})
	}
}

// TestStaticVolumesAreGivenOnce has three claims and two volumes, of which the first
// claim fits either and the second one only the smaller: both get one, in whichever
// order they come, and the third one waits.
func TestStaticVolumesAreGivenOnce(t *testing.T) {
	class := "static"
	fast := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "fast"}}
	s := &cluster.Snapshot{
		StorageClasses: []cluster.StorageClass{{Name: class, Static: true, WaitForFirstConsumer: true}},
		Volumes:        []cluster.Volume{{Name: "v1", StorageClass: class, Capacity: 1, Labels: map[string]string{"tier": "fast"}}, {Name: "v2", StorageClass: class, Capacity: 2}},
		Claims:         []cluster.Claim{{Namespace: "d", Name: "c1", StorageClass: &class}, {Namespace: "d", Name: "c2", StorageClass: &class, Selector: fast}, {Namespace: "d", Name: "c3", StorageClass: &class}},
	}
	s.Pods = []cluster.Pod{usesClaims("c1", "c2"), usesClaims("c3")}
	volumes := NewVolumes(s)
	for i, want := range []string{"", "", "persistent volume claim d/c3 needs an existing volume, because storage class static does not provision volumes, and other claims have all that fit"} {
		_, miss := volumes.Needs(&cluster.Template{Namespace: "d", Claims: []cluster.ClaimRef{{Name: s.Claims[i].Name}}}, false)
		if miss.Want != want {
			t.Errorf("claim %s: got %q, want %q", s.Claims[i].Name, miss.Want, want)
		}
	}
}

// TestManyEqualStaticVolumes: of hundreds of volumes that do not differ, each claim gets one of its own, as
// long as there are any.
func TestManyEqualStaticVolumes(t *testing.T) {
	const n = 3 * maxVolumes
	class := "static"
	s := &cluster.Snapshot{StorageClasses: []cluster.StorageClass{{Name: class, Static: true, WaitForFirstConsumer: true}}}
	for i := range n + 1 {
		name := fmt.Sprintf("c%03d", i)
		s.Claims = append(s.Claims, cluster.Claim{Namespace: "d", Name: name, StorageClass: &class})
		s.Pods = append(s.Pods, usesClaims(name))
	}
	for i := range n {
		s.Volumes = append(s.Volumes, cluster.Volume{Name: fmt.Sprintf("v%03d", i), StorageClass: class, Capacity: 1})
	}
	volumes, missed := NewVolumes(s), 0
	for i := range s.Pods {
		if _, miss := volumes.Needs(s.Pods[i].Template, false); miss.Missed() {
			missed++
		}
	}
	if missed != 1 {
		t.Errorf("%d of %d claims have no volume of %d, want 1", missed, n+1, n)
	}
}

// usesClaims is a pod of namespace d.
func usesClaims(names ...string) cluster.Pod {
	t := &cluster.Template{Namespace: "d"}
	for _, name := range names {
		t.Claims = append(t.Claims, cluster.ClaimRef{Name: name})
	}
	return cluster.Pod{PodKey: cluster.PodKey{Namespace: "d", Name: names[0]}, Template: t}
}

// TestStaticVolumesAreForPods: claims that no pod uses wait for one, and keep no volume from others.
func TestStaticVolumesAreForPods(t *testing.T) {
	class := "static"
	s := &cluster.Snapshot{
		StorageClasses: []cluster.StorageClass{{Name: class, Static: true, WaitForFirstConsumer: true}},
		Volumes:        []cluster.Volume{{Name: "v", StorageClass: class}},
		Claims:         []cluster.Claim{{Namespace: "c", Name: "used", StorageClass: &class}, {Namespace: "d", Name: "idle", StorageClass: &class}, {Namespace: "d", Name: "used", StorageClass: &class}},
		Pods:           []cluster.Pod{usesClaims("used")},
	}
	if _, miss := NewVolumes(s).Needs(s.Pods[0].Template, false); miss.Missed() {
		t.Errorf("the claim that a pod uses gets no volume: %s", miss)
	}
}

// TestManyLocalVolumesAreOneAlternative: each names a node, and there may be hundreds.
func TestManyLocalVolumesAreOneAlternative(t *testing.T) {
	class := "static"
	s := &cluster.Snapshot{
		StorageClasses: []cluster.StorageClass{{Name: class, Static: true, WaitForFirstConsumer: true}},
		Claims:         []cluster.Claim{{Namespace: "d", Name: "c", StorageClass: &class}},
	}
	for i := range 100 {
		node := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term(api.LabelHostname, "In", fmt.Sprintf("n%02d", i))}}
		s.Volumes = append(s.Volumes, cluster.Volume{Name: fmt.Sprintf("v%02d", i), StorageClass: class, Local: true, NodeAffinity: node})
	}
	needs, miss := NewVolumes(s).Needs(&cluster.Template{Namespace: "d", Claims: []cluster.ClaimRef{{Name: "c"}}}, false)
	if miss.Missed() || len(needs.Places) != 1 {
		t.Fatalf("got %d alternatives and %q", len(needs.Places), miss)
	}
	set, _ := needs.Places[0].Get(api.LabelHostname)
	if values, _ := set.Values(); len(values) != 100 {
		t.Errorf("got %d nodes", len(values))
	}
}

// TestVolumesAreReadOnce: where volumes are is read once, however many claims ask for one.
func TestVolumesAreReadOnce(t *testing.T) {
	class, n := "static", 100
	s := &cluster.Snapshot{StorageClasses: []cluster.StorageClass{{Name: class, Static: true, WaitForFirstConsumer: true}}}
	for i := range n {
		on := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term(corev1.LabelHostname, "In", fmt.Sprint("node-", i))}}
		s.Volumes = append(s.Volumes, cluster.Volume{Name: fmt.Sprint("v", i), StorageClass: class, Capacity: 10, NodeAffinity: on})
		s.Claims = append(s.Claims, cluster.Claim{Namespace: "d", Name: fmt.Sprint("data-", i), UID: "1", StorageClass: &class, Request: 10})
		s.Pods = append(s.Pods, cluster.Pod{PodKey: cluster.PodKey{Namespace: "d", Name: fmt.Sprint(i)}, Template: &cluster.Template{Namespace: "d", Claims: []cluster.ClaimRef{{Name: fmt.Sprint("data-", i)}}}})
	}
	if got := testing.AllocsPerRun(3, func() { NewVolumes(s) }); got > float64(100*n) {
		t.Errorf("%v allocations for %d claims", got, n)
	}
}
