package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// storageClasses are those that the files declare, by name, and the default under no name. In a
// cluster, pods wait where the class of a claim does not exist; here it may merely be in no file.
type storageClasses map[string]bool

func declared(classes []*storagev1.StorageClass) storageClasses {
	out := storageClasses{}
	for _, c := range classes {
		out[c.Name] = true
		out[""] = out[""] || cluster.FromStorageClass(c).Default
	}
	return out
}

// check looks at a claim that the object has at a path.
func (s storageClasses) check(claim *corev1.PersistentVolumeClaimSpec, object, path string, r *remarks) {
	name := claim.StorageClassName
	switch {
	case claim.VolumeName != "":
	case name == nil && !s[""]:
		r.add(object, path, "no file has a default StorageClass, so that pods whose claims name no class are not placed", "add the file that declares it, or set storageClassName")
	case name != nil && *name != "" && !s[*name]:
		r.add(object, path+".storageClassName", fmt.Sprintf("no file has the StorageClass %s, so that pods with claims of it are not placed", *name), "add the file that declares it")
	}
}

// checkPod looks at the claims that come with a pod that is to be scheduled.
func (s storageClasses) checkPod(spec *corev1.PodSpec, object, path string, r *remarks) {
	for i := range spec.Volumes {
		if e := spec.Volumes[i].Ephemeral; e != nil && e.VolumeClaimTemplate != nil && spec.NodeName == "" {
			s.check(&e.VolumeClaimTemplate.Spec, object, fmt.Sprintf("%s.volumes[%d].ephemeral.volumeClaimTemplate.spec", path, i), r)
		}
	}
}
