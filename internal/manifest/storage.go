package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// storageClasses are those that are known, by name, and the default under no name. In a
// cluster, pods wait where the class of a claim does not exist; here it may merely be in no file.
type storageClasses map[string]*cluster.StorageClass

func declared(classes []cluster.StorageClass) storageClasses {
	out := storageClasses{}
	for i := range classes {
		c := &classes[i]
		out[c.Name] = c
		if c.Default {
			out[""] = c
		}
	}
	return out
}

// check looks at a claim that the object has at a path. It is planned if no API server has it yet.
func (s storageClasses) check(claim *corev1.PersistentVolumeClaimSpec, planned bool, object, path string, r *remarks) {
	name := claim.StorageClassName
	class := s[ptr.Deref(name, "")]
	switch {
	case claim.VolumeName != "":
	case name == nil && class == nil:
		r.add(object, path, "no file has a default StorageClass, so pods whose claims name no class are not placed", "add the file that declares it, or set storageClassName")
	case name != nil && *name != "" && class == nil:
		r.add(object, path+".storageClassName", fmt.Sprintf("no file has the StorageClass %s, so pods with claims of it are not placed", *name), "add the file that declares it")
	case planned && (name == nil || *name != "") && !class.WaitForFirstConsumer:
		r.add(object, path, fmt.Sprintf("the StorageClass %s makes volumes before pods have nodes, in zones that are not known yet: its pods are planned as if it waited", class.Name), "set volumeBindingMode: WaitForFirstConsumer")
	}
}

// checkPod looks at the claims that come with a pod that is to be scheduled.
func (s storageClasses) checkPod(spec *corev1.PodSpec, planned bool, object, path string, r *remarks) {
	for i := range spec.Volumes {
		if e := spec.Volumes[i].Ephemeral; e != nil && e.VolumeClaimTemplate != nil && spec.NodeName == "" {
			s.check(&e.VolumeClaimTemplate.Spec, planned, object, fmt.Sprintf("%s.volumes[%d].ephemeral.volumeClaimTemplate.spec", path, i), r)
		}
	}
}
