package api

import (
	"embed"
	"io/fs"
)

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRD is a CustomResourceDefinition as it is applied to a cluster.
//
// +kubebuilder:object:generate=false
type CRD struct {
	Name string // of the CustomResourceDefinition object
	YAML []byte
}

// CRDs returns the definitions of both resources, in the order of their names.
func CRDs() []CRD {
	names := []string{NodeTemplateGVR.GroupResource().String(), ProvisionerGVR.GroupResource().String()}
	out := make([]CRD, 0, len(names))
	for _, name := range names {
		yaml, err := fs.ReadFile(crdFiles, "crds/"+name+".yaml")
		if err != nil {
			panic("embedded CRD " + name + ": " + err.Error()) // a mistake of the build, not of the user
		}
		out = append(out, CRD{Name: name, YAML: yaml})
	}
	return out
}
