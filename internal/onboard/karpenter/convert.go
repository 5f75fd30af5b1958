// Package karpenter reads what describes node provisioning to Karpenter:
// Provisioners and AWSNodeTemplates as they are, NodePools and EC2NodeClasses
// (v1beta1 and v1) converted into them. Whatever has no counterpart is named.
package karpenter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest/syntax"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// Object is a Provisioner or node profile, as the JSON of its spec.
type Object struct {
	Kind string // api.ProvisionerKind or api.NodeTemplateKind
	Name string
	Spec map[string]any
	// Origin is what it was made from, such as "NodePool default (karpenter.sh/v1)";
	// empty for what is taken as it is.
	Origin string
	// Losses are what the origin says and the object does not.
	Losses finding.List
	// Unsupported are those of the losses without which nodes would not be what they
	// are meant to be, so that none may be bought.
	Unsupported finding.List

	from    api.Origin      // what it was made from
	lost    finding.List    // those of the losses that are losses also where the origin is served as it is
	class   *api.ClassTerms // what is served of an EC2NodeClass beyond the spec
	serving bool            // see converter
}

// Read converts the YAML or JSON documents of a file, those in Lists included.
// Documents of other kinds are skipped and named, each with the reason. What breaks a rule
// of the API server of a cluster with Karpenter is among the losses; a value of the wrong
// type is an error.
func Read(text []byte) (objects []Object, skipped []string, err error) {
	var documents []map[string]any
	checked := map[string]finding.List{} // by title
	for i, part := range syntax.Split(text) {
		asJSON, line, err := part.JSON()
		if err != nil {
			return nil, nil, fmt.Errorf("read document %d, line %d: %w", i+1, line, err)
		}
		var document map[string]any
		twice, err := kjson.UnmarshalStrict(asJSON, &document)
		if err := errors.Join(append(twice, err)...); err != nil {
			return nil, nil, fmt.Errorf("read document %d: %w", i+1, err)
		}
		for _, item := range itemsOf(document) {
			if why := whyNot(item); why != "" {
				skipped = append(skipped, title(item)+": "+why)
			} else if _, twice := checked[title(item)]; twice {
				skipped = append(skipped, title(item)+": appears twice, the first one is taken")
			} else {
				documents = append(documents, item)
				checked[title(item)] = findingsOf(item)
			}
		}
	}
	converted, err := Convert(documents, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range converted {
		if n := len(objects) - 1; n >= 0 && objects[n].Kind == o.Kind && objects[n].Name == o.Name {
			skipped = append(skipped, fmt.Sprintf("%s: is skipped, because %s has this name too", o.title(), objects[n].title()))
			continue
		}
		for _, f := range checked[cmp.Or(o.from.Kind, o.Kind)+" "+o.Name] {
			if !slices.ContainsFunc(o.Losses, func(loss finding.Finding) bool { return strings.HasPrefix(loss.Path, f.Path) }) {
				o.Losses = append(o.Losses, f)
			}
		}
		objects = append(objects, o)
	}
	return objects, skipped, nil
}

// title says what the object is made from.
func (o *Object) title() string { return cmp.Or(o.Origin, o.Kind+" "+o.Name) }

// findingsOf says what Karpenter's rules say against a document of Karpenter, and what is lost of one of ours if it is
// written again. One that is imported keeps it.
func findingsOf(document map[string]any) finding.List {
	switch {
	case !kinds.Known(document):
		return ownMetadata(document)
	case Foreign(document) != "":
		return nil
	}
	return check.Object(document)
}

// itemsOf takes a List apart. A document without content gives nothing.
func itemsOf(document map[string]any) []map[string]any {
	if len(document) == 0 {
		return nil
	}
	kind, _ := document["kind"].(string)
	items, list := document["items"].([]any)
	if !list || !strings.HasSuffix(kind, "List") {
		return []map[string]any{document}
	}
	var out []map[string]any
	for _, item := range items {
		object, _ := item.(map[string]any)
		out = append(out, itemsOf(object)...)
	}
	return out
}

// whyNot says why a document cannot be converted, nothing if it can.
func whyNot(document map[string]any) string {
	kind, _ := document["kind"].(string)
	switch {
	case kind == "":
		return "has no kind"
	case kind == api.ProvisionerKind, kind == api.NodeTemplateKind, kinds.Known(document):
		return ""
	case kind == kinds.NodePoolKind, kind == kinds.NodeClassKind:
		return fmt.Sprintf("cannot be read in the version %v: the versions are %s", document["apiVersion"], strings.Join(kinds.Versions, " and "))
	}
	return "is skipped: the kinds are Provisioner, AWSNodeTemplate, NodePool and EC2NodeClass"
}

// title is the kind and the name of a document.
func title(document map[string]any) string {
	kind, _ := document["kind"].(string)
	return strings.TrimSpace(kind + " " + kinds.NameOf(document))
}

// Convert converts manifests in their JSON form. Kubelet settings of an
// EC2NodeClass go to the Provisioners that use it, so that what belongs together
// is to be converted together.
//
// Profiles say by role which instance profile an EC2NodeClass of the role gets. Where
// they do not, the role is lost.
func Convert(documents []map[string]any, profiles map[string]Profile) ([]Object, error) {
	c := newConverter(profiles)
	return c.convertAll(documents)
}

func (c *converter) convertAll(documents []map[string]any) ([]Object, error) {
	// Node classes first, whose kubelet settings the pools take.
	slices.SortStableFunc(documents, func(a, b map[string]any) int { return rank(a) - rank(b) })
	for _, document := range documents {
		if err := c.convert(document); err != nil {
			return nil, err
		}
	}
	c.nameUnused()
	slices.SortStableFunc(c.out, func(a, b Object) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return c.out, nil
}

// nameUnused says which settings of the kubelet go to no Provisioner, because no NodePool is converted with their class.
func (c *converter) nameUnused() {
	for i := range c.out {
		o := &c.out[i]
		if !c.serving && o.from.Kind == kinds.NodeClassKind && c.kubelet[o.Name] != nil && !c.used[o.Name] {
			o.leave("spec.kubelet", "no NodePool is there to convert that uses the class, and a node profile has no settings of the kubelet: convert them together")
		}
	}
}

func rank(document map[string]any) int {
	if document["kind"] == kinds.NodeClassKind {
		return 0
	}
	return 1
}

// Profile is the instance profile of a role, or why there is none to name.
type Profile struct{ Name, Missing string }

type converter struct {
	kubelet   map[string]*kinds.Kubelet // settings by EC2NodeClass
	used      map[string]bool           // the EC2NodeClasses that NodePools name
	reserving map[string]bool           // whether an EC2NodeClass selects capacity reservations
	windows   map[string]bool           // whether an EC2NodeClass is for Windows
	profiles  map[string]Profile        // by role
	serving   bool                      // what is made is served, and not given to the user
	out       []Object
}

func newConverter(profiles map[string]Profile) *converter {
	return &converter{kubelet: map[string]*kinds.Kubelet{}, used: map[string]bool{}, reserving: map[string]bool{}, windows: map[string]bool{}, profiles: profiles}
}

func (c *converter) convert(document map[string]any) error {
	kind, _ := document["kind"].(string)
	version, _ := document["apiVersion"].(string)
	name := kinds.NameOf(document)
	_, served, _ := strings.Cut(version, "/")
	object := Object{Name: name, serving: c.serving, Origin: fmt.Sprintf("%s %s (%s)", kind, name, version)}
	if why := whyNot(document); why != "" {
		return fmt.Errorf("%s %s", title(document), why)
	}
	if name == "" {
		return fmt.Errorf("a document of kind %q has no metadata.name", kind)
	}
	object.from = api.Origin{APIVersion: version, Kind: kind, Paths: map[string]string{}}
	var spec any
	switch kind {
	case kinds.NodePoolKind:
		object.Kind = api.ProvisionerKind
		maps.Copy(object.from.Paths, poolPaths)
		p, settings, err := object.readPool(document, served)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
		pool := c.pool(&object, p, document)
		pool.KubeletConfiguration = cmp.Or(settings, pool.KubeletConfiguration)
		spec = pool
	case kinds.NodeClassKind:
		object.Kind = api.NodeTemplateKind
		maps.Copy(object.from.Paths, classPaths)
		var class kinds.NodeClass
		if err := object.read(document, &class); err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
		spec = c.class(&object, &class, served)
	default:
		return c.keep(document, kind, name)
	}
	var err error
	if object.Spec, err = plain(spec); err != nil {
		return fmt.Errorf("%s %s: %w", kind, name, err)
	}
	object.Losses = append(object.Losses, ownMetadata(document)...)
	problems := object.Problems()
	object.Losses, object.lost = append(object.Losses, problems...), append(object.lost, problems...)
	object.Unsupported = append(object.Unsupported, problems...)
	c.out = append(c.out, object)
	return nil
}

// read decodes what the object is made from. A field that no type has is recorded as a loss. For objects that are
// served unchanged, package check reports it. A kubelet setting that is not supported makes the object unsupported,
// because nodes without it would differ from what their author wants.
func (o *Object) read(document map[string]any, into any) error {
	warnings, errs := kinds.Decoder.Decode(document, into, nil)
	for _, f := range warnings {
		if kinds.UnknownSetting(f.Path) {
			o.refuse(f.Path, "the setting is not supported")
		} else {
			o.Losses = append(o.Losses, f)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// betaKubelet is the annotation in which Karpenter 1.0 keeps the settings of the kubelet of a NodePool that it has
// converted from v1beta1. They count instead of those of the class.
const betaKubelet = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"

// readPool reads a NodePool in the form of v1. In v1beta1 it has settings of the kubelet.
func (o *Object) readPool(document map[string]any, version string) (*kinds.NodePool, *kinds.Kubelet, error) {
	if version == "v1" {
		p := &kinds.NodePool{}
		if err := o.read(document, p); err != nil {
			return nil, nil, err
		}
		return p, o.converted(p.Annotations[betaKubelet]), nil
	}
	var beta kinds.NodePoolBeta
	if err := o.read(document, &beta); err != nil {
		return nil, nil, err
	}
	p, settings := o.current(&beta)
	return p, settings, nil
}

// converted returns the settings of the kubelet in the annotation betaKubelet, nil if it is empty.
func (o *Object) converted(text string) *kinds.Kubelet {
	if text == "" {
		return nil
	}
	const path = "metadata.annotations[" + betaKubelet + "]"
	o.from.Paths["spec.kubeletConfiguration"] = path
	settings := &kinds.Kubelet{}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(settings); err != nil {
		o.refuse(path, fmt.Sprintf("the settings of the kubelet cannot be read: %v", err))
	}
	return settings
}

// current returns a NodePool of v1beta1 in the form of v1, beside the settings of its kubelets.
func (o *Object) current(p *kinds.NodePoolBeta) (*kinds.NodePool, *kinds.Kubelet) {
	spec := ptr.Deref(p.Spec, kinds.PoolSpecBeta{})
	template := ptr.Deref(spec.Template, kinds.PoolTemplateBeta{})
	nodes, disruption := ptr.Deref(template.Spec, kinds.PoolNodesBeta{}), ptr.Deref(spec.Disruption, kinds.PoolDisruptionBeta{})
	if len(nodes.Resources) > 0 {
		o.lose(nodesPath+".resources", "has no counterpart")
	}
	var ref *kinds.ClassRef
	if r := nodes.NodeClassRef; r != nil {
		ref = &kinds.ClassRef{Kind: r.Kind, Name: r.Name}
	}
	return &kinds.NodePool{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta, Spec: &kinds.PoolSpec{
		Template: &kinds.PoolTemplate{Metadata: template.Metadata, Spec: &kinds.PoolNodes{
			Requirements: nodes.Requirements, Taints: nodes.Taints, StartupTaints: nodes.StartupTaints, NodeClassRef: ref, ExpireAfter: disruption.ExpireAfter,
		}},
		Disruption: &disruption.PoolDisruption, Limits: spec.Limits, Weight: spec.Weight,
	}}, nodes.Kubelet
}

// keep takes an object of ours as it is; what the API ignores is a loss.
func (c *converter) keep(document map[string]any, kind, name string) error {
	object := Object{Kind: kind, Name: name}
	var typed any
	var err error
	if kind == api.ProvisionerKind {
		var p *api.Provisioner
		if p, object.Losses, err = api.ProvisionerOf(document); err == nil {
			typed = p.Spec
			_, ignored, _ := p.DecodeInline()
			object.Losses = append(object.Losses, ignored...)
		}
	} else {
		var t *api.AWSNodeTemplate
		if t, object.Losses, err = api.NodeTemplateOf(document); err == nil {
			typed = t.Spec
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, name, err)
	}
	// The spec goes through its type, so that ignored fields and nulls are gone.
	if object.Spec, err = plain(typed); err != nil {
		return fmt.Errorf("%s %s: %w", kind, name, err)
	}
	c.out = append(c.out, object)
	return nil
}

// Manifest returns the object as the API server takes it.
func (o Object) Manifest() map[string]any {
	version := api.ProvisionerGVK.GroupVersion()
	if o.Kind == api.NodeTemplateKind {
		version = api.NodeTemplateGVK.GroupVersion()
	}
	return map[string]any{
		"apiVersion": version.String(), "kind": o.Kind, "metadata": map[string]any{"name": o.Name}, "spec": o.Spec,
	}
}

// source is the Source of what is served, which may have what a Provisioner of the user's own may not.
func (o *Object) source() *api.Origin {
	if !o.serving {
		return nil
	}
	return &o.from
}

// Problems lists what the rules of the API say against the object, by the fields of what it
// was made from.
func (o Object) Problems() finding.List {
	raw, err := json.Marshal(o.Manifest())
	if err != nil {
		return finding.Of(err)
	}
	var found finding.List
	if o.Kind == api.ProvisionerKind {
		p, _, err := api.DecodeProvisioner(raw)
		if found = finding.Of(err); err == nil {
			p.Source = o.source()
			found = validate.ProvisionerErrors(p).Errors()
		}
	} else {
		t, _, err := api.DecodeNodeTemplate(raw)
		if found = finding.Of(err); err == nil {
			if o.serving {
				t.Spec.Class = o.class // by which it may have what an AWSNodeTemplate of the user's own may not
			}
			found = validate.NodeTemplate(t).Errors()
		}
	}
	for i := range found {
		found[i] = found[i].Moved(o.from.PathOf)
	}
	return found
}
