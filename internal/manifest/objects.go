package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
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
	read       func(o *objects, asJSON []byte, name, namespace string) (warnings []string, err error)
}

// kinds are those that a decision looks at, by kind and group.
var kinds = map[string]kind{
	"Pod":                             {true, into(func(o *objects) *[]*corev1.Pod { return &o.pods })},
	"Node":                            {false, into(func(o *objects) *[]*corev1.Node { return &o.nodes })},
	"Namespace":                       {false, into(func(o *objects) *[]*corev1.Namespace { return &o.namespaces })},
	"PersistentVolume":                {false, into(func(o *objects) *[]*corev1.PersistentVolume { return &o.volumes })},
	"PersistentVolumeClaim":           {true, into(func(o *objects) *[]*corev1.PersistentVolumeClaim { return &o.claims })},
	"ReplicationController":           {true, into(func(o *objects) *[]*corev1.ReplicationController { return &o.controllers })},
	"CSINode.storage.k8s.io":          {false, into(func(o *objects) *[]*storagev1.CSINode { return &o.csiNodes })},
	"StorageClass.storage.k8s.io":     {false, into(func(o *objects) *[]*storagev1.StorageClass { return &o.storageClasses })},
	"PodDisruptionBudget.policy":      {true, into(func(o *objects) *[]*policyv1.PodDisruptionBudget { return &o.budgets })},
	"PriorityClass.scheduling.k8s.io": {false, into(func(o *objects) *[]*schedulingv1.PriorityClass { return &o.priorityClasses })},
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
) func(*objects, []byte, string, string) ([]string, error) {
	return func(o *objects, asJSON []byte, name, namespace string) ([]string, error) {
		object := new(T)
		if err := checkQuantities(asJSON, reflect.TypeFor[T]()); err != nil {
			return nil, err
		}
		unknown, err := kjson.UnmarshalStrict(asJSON, object)
		if err != nil {
			return nil, explain(err)
		}
		P(object).SetName(name)
		P(object).SetNamespace(namespace)
		to := list(o)
		*to = append(*to, object)
		var warnings []string
		for _, u := range unknown {
			warnings = append(warnings, pathFirst(u.Error()))
		}
		return warnings, nil
	}
}

// pathFirst turns `unknown field "spec.x"` into `spec.x: unknown field`.
func pathFirst(message string) string {
	what, quoted, ok := strings.Cut(message, ` "`)
	if !ok {
		return message
	}
	return strings.TrimSuffix(quoted, `"`) + ": " + what
}

func explain(err error) error {
	var mistyped *json.UnmarshalTypeError
	if !errors.As(err, &mistyped) {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return fmt.Errorf("%s: a %s cannot be read as %s", mistyped.Field, mistyped.Value, mistyped.Type)
}

// addObject reads one object; doc has its kind, name and namespace as written.
func (b *Builder) addObject(doc *Document, h *header, asJSON []byte) error {
	gk := h.GroupVersionKind().GroupKind()
	switch gk.Kind {
	case "":
		return errors.New("kind: is missing")
	case api.ProvisionerKind:
		return b.addProvisioner(doc, asJSON)
	case api.NodeTemplateKind:
		return b.addNodeTemplate(doc, asJSON)
	}
	k, known := kinds[gk.String()]
	if !known {
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("kind: %s is not looked at", gk))
		return nil
	}
	if err := complete(doc, k.namespaced, h.GenerateName); err != nil {
		return err
	}
	if err := b.claimName(doc); err != nil {
		return err
	}
	warnings, err := k.read(&b.objects, asJSON, doc.Name, doc.Namespace)
	doc.Warnings = append(doc.Warnings, warnings...)
	return err
}

func (b *Builder) addProvisioner(doc *Document, asJSON []byte) error {
	p, warnings, err := api.DecodeProvisioner(asJSON)
	doc.Namespace, doc.Warnings = "", warnings
	if err != nil {
		return err
	}
	if err := b.claimName(doc); err != nil {
		return err
	}
	doc.Provisioner = p
	return nil
}

func (b *Builder) addNodeTemplate(doc *Document, asJSON []byte) error {
	t, warnings, err := api.DecodeNodeTemplate(asJSON)
	doc.Namespace, doc.Warnings = "", warnings
	if err != nil {
		return err
	}
	if err := b.claimName(doc); err != nil {
		return err
	}
	doc.NodeTemplate = t
	return nil
}

// complete does what the API server does to names.
func complete(doc *Document, namespaced bool, generateName string) error {
	switch {
	case doc.Name == "" && generateName == "":
		return errors.New("metadata.name: is missing")
	case doc.Name == "":
		doc.Name = fmt.Sprintf("%s%d", generateName, doc.Index)
	}
	switch {
	case !namespaced:
		doc.Namespace = ""
	case doc.Namespace == "":
		doc.Namespace = metav1.NamespaceDefault
	}
	return nil
}

// claimName refuses a second object of the same kind and name.
func (b *Builder) claimName(doc *Document) error {
	key := doc.Object()
	if first, taken := b.seen[key]; taken {
		return fmt.Errorf("metadata.name: is defined in %s, document %d, already", first.File, first.Index)
	}
	b.seen[key] = doc
	return nil
}
