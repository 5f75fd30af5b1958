package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
)

// Sort brings all lists into the order that a Snapshot promises.
func (s *Snapshot) Sort() {
	slices.SortFunc(s.Pods, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	slices.SortFunc(s.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.DaemonSets, func(a, b DaemonSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.Namespaces, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.Volumes, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.StorageClasses, func(a, b StorageClass) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Deployments, func(a, b Deployment) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.DisruptionBudgets, func(a, b DisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// Digest returns a hash of the content, in hexadecimal. Equal content in equal
// order gives the same digest, whichever pods share a Template.
func (s *Snapshot) Digest() string {
	sum := sha256.New()
	templates := map[*Template]string{}
	of := func(t *Template) string {
		if t == nil {
			return ""
		}
		d, ok := templates[t]
		if !ok {
			raw := digestOf(t)
			d = hex.EncodeToString(raw[:])
			templates[t] = d
		}
		return d
	}
	for _, p := range s.Pods {
		template := of(p.Template)
		p.Template = nil
		write(sum, struct {
			Pod      Pod
			Template string
		}{p, template})
	}
	for _, d := range s.DaemonSets {
		write(sum, [3]string{d.Namespace, d.Name, of(d.Template)})
	}
	rest := *s
	rest.Pods, rest.DaemonSets = nil, nil
	write(sum, rest)
	return hex.EncodeToString(sum.Sum(nil))
}

func write(sum hash.Hash, content any) {
	// Neither plain data nor a hash can fail.
	_ = json.NewEncoder(sum).Encode(content)
}
