package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// objects are the Kubernetes objects read so far, in the order of the files.
type objects struct {
	pods            []*corev1.Pod
	nodes           []*corev1.Node
	csiNodes        []*storagev1.CSINode
	namespaces      []*corev1.Namespace
	claims          []*corev1.PersistentVolumeClaim
	volumes         []*corev1.PersistentVolume
	storageClasses  []*storagev1.StorageClass
	budgets         []*policyv1.PodDisruptionBudget
	priorityClasses []*schedulingv1.PriorityClass
	runtimeClasses  []*nodev1.RuntimeClass
	limitRanges     []*corev1.LimitRange
	daemonSets      []*appsv1.DaemonSet
	deployments     []*appsv1.Deployment
	replicaSets     []*appsv1.ReplicaSet
	statefulSets    []*appsv1.StatefulSet
	controllers     []*corev1.ReplicationController
	jobs            []*batchv1.Job
	cronJobs        []*batchv1.CronJob
}

// kind says how objects of one kind are read.
type kind struct {
	namespaced bool
	read       func(o *objects, asJSON []byte, name, namespace string) (ignored finding.List, err error)
}

// readers are the kinds that a decision looks at, by kind and group.
var readers = map[string]kind{
	"Pod":                             {true, into(func(o *objects) *[]*corev1.Pod { return &o.pods })},
	"Node":                            {false, into(func(o *objects) *[]*corev1.Node { return &o.nodes })},
	"Namespace":                       {false, into(func(o *objects) *[]*corev1.Namespace { return &o.namespaces })},
	"PersistentVolume":                {false, into(func(o *objects) *[]*corev1.PersistentVolume { return &o.volumes })},
	"PersistentVolumeClaim":           {true, into(func(o *objects) *[]*corev1.PersistentVolumeClaim { return &o.claims })},
	"LimitRange":                      {true, into(func(o *objects) *[]*corev1.LimitRange { return &o.limitRanges })},
	"ReplicationController":           {true, into(func(o *objects) *[]*corev1.ReplicationController { return &o.controllers })},
	"CSINode.storage.k8s.io":          {false, into(func(o *objects) *[]*storagev1.CSINode { return &o.csiNodes })},
	"StorageClass.storage.k8s.io":     {false, into(func(o *objects) *[]*storagev1.StorageClass { return &o.storageClasses })},
	"PodDisruptionBudget.policy":      {true, into(func(o *objects) *[]*policyv1.PodDisruptionBudget { return &o.budgets })},
	"PriorityClass.scheduling.k8s.io": {false, into(func(o *objects) *[]*schedulingv1.PriorityClass { return &o.priorityClasses })},
	"RuntimeClass.node.k8s.io":        {false, into(func(o *objects) *[]*nodev1.RuntimeClass { return &o.runtimeClasses })},
	"DaemonSet.apps":                  {true, into(func(o *objects) *[]*appsv1.DaemonSet { return &o.daemonSets })},
	"Deployment.apps":                 {true, into(func(o *objects) *[]*appsv1.Deployment { return &o.deployments })},
	"ReplicaSet.apps":                 {true, into(func(o *objects) *[]*appsv1.ReplicaSet { return &o.replicaSets })},
	"StatefulSet.apps":                {true, into(func(o *objects) *[]*appsv1.StatefulSet { return &o.statefulSets })},
	"Job.batch":                       {true, into(func(o *objects) *[]*batchv1.Job { return &o.jobs })},
	"CronJob.batch":                   {true, into(func(o *objects) *[]*batchv1.CronJob { return &o.cronJobs })},
}

func into[T any, P interface {
	*T
	metav1.Object
}](list func(*objects) *[]*T,
) func(*objects, []byte, string, string) (finding.List, error) {
	return func(o *objects, asJSON []byte, name, namespace string) (finding.List, error) {
		object := new(T)
		if err := decode.CheckQuantities(asJSON, reflect.TypeFor[T]()); err != nil {
			return nil, err
		}
		strict, err := kjson.UnmarshalStrict(asJSON, object)
		var ignored finding.List
		if err != nil || len(strict) > 0 { // reading once more to say why takes several times as long
			if ignored, err = explain(asJSON, new(T), append(strict, err)); err != nil {
				return nil, err
			}
		}
		if broken := brokenRules(object); len(broken) > 0 {
			return nil, broken
		}
		ignored = append(ignored, doubts(object)...)
		P(object).SetName(name)
		P(object).SetNamespace(namespace)
		to := list(o)
		*to = append(*to, object)
		return ignored, nil
	}
}

// plain reads objects of Kubernetes.
var plain = decode.Decoder{Foreign: true}

// explain says why an object could not be read into a pointer to a struct, and which fields
// were left out, of problems that name no value and no place in a list. A field that is there
// twice is a problem; the trees that the decoder reads have each field once.
func explain(asJSON []byte, into any, problems []error) (ignored finding.List, err error) {
	tree, err := decode.Tree(asJSON)
	if err != nil {
		return nil, err
	}
	ignored, errs := plain.Decode(tree, into, nil)
	for _, p := range problems {
		of, ok := errors.AsType[kjson.FieldError](p)
		if ok && strings.HasPrefix(p.Error(), "duplicate field") {
			errs = append(errs, finding.Finding{Severity: finding.Error, Path: of.FieldPath(), Text: finding.Say("appears twice"), Advice: finding.Say("remove one of the two")})
		}
		if p != nil && !ok && len(errs) == 0 {
			return nil, p
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return ignored, nil
}

// addObject reads one object; doc has its kind, name and namespace as written.
func (b *Builder) addObject(doc *Document, h *header, asJSON []byte) error {
	gk := h.GroupVersionKind().GroupKind()
	switch gk.Kind {
	case "":
		return refused("kind", "is missing", "")
	case api.ProvisionerKind:
		return addOurs(b, doc, asJSON, api.DecodeProvisioner, &doc.Provisioner)
	case api.NodeTemplateKind:
		return addOurs(b, doc, asJSON, api.DecodeNodeTemplate, &doc.NodeTemplate)
	}
	k, known := readers[gk.String()]
	doc.Known = known
	if err := checkVersion(h.TypeMeta); err != nil {
		return err
	}
	if !known {
		return b.addKarpenter(doc, asJSON)
	}
	if err := b.complete(doc, k.namespaced, h.GenerateName); err != nil {
		return err
	}
	if err := b.claimName(doc); err != nil {
		return err
	}
	var err error
	doc.Ignored, err = k.read(&b.objects, asJSON, doc.Name, doc.Namespace)
	return err
}

// addOurs reads a Provisioner or a node profile.
func addOurs[T any](b *Builder, doc *Document, asJSON []byte, read func([]byte) (*T, finding.List, error), to **T) error {
	object, ignored, err := read(asJSON)
	doc.Namespace, doc.Known, doc.Ignored = "", true, ignored
	if err != nil {
		return err
	}
	if err := b.claimName(doc); err != nil {
		return err
	}
	*to = object
	return nil
}

// complete does what the API server does to names.
func (b *Builder) complete(doc *Document, namespaced bool, generateName string) error {
	if doc.Name == "" && generateName == "" {
		return refused("metadata.name", "is missing", "")
	}
	switch {
	case !namespaced:
		doc.Namespace = ""
	case doc.Namespace == "":
		doc.Namespace = metav1.NamespaceDefault
	}
	if doc.Namespace != "" {
		for _, problem := range validation.IsDNS1123Label(doc.Namespace) {
			return finding.Invalid(field.NewPath("metadata", "namespace"), doc.Namespace, finding.Plain(problem), finding.None)
		}
	}
	for _, problem := range validation.IsDNS1123Subdomain(doc.Name) {
		if doc.Name != "" {
			return finding.Invalid(field.NewPath("metadata", "name"), doc.Name, finding.Plain(problem), finding.None)
		}
	}
	if doc.Name == "" {
		b.generateName(doc, generateName)
	}
	return nil
}

// generateName gives a document a name that no other has so far.
func (b *Builder) generateName(doc *Document, prefix string) {
	for n := len(b.documents); ; n++ {
		doc.Name = prefix + strconv.Itoa(n)
		if b.seen[doc.Object()] == nil {
			return
		}
	}
}

// claimName refuses a second object of the same kind and name.
func (b *Builder) claimName(doc *Document) error {
	key := doc.Object()
	if first, taken := b.seen[key]; taken {
		return refused("metadata.name", fmt.Sprintf("%s, document %d, has an object of this kind and name", first.File, first.Index), "remove or rename one of the two")
	}
	b.seen[key] = doc
	return nil
}
