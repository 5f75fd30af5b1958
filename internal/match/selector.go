package match

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// PodSelection is the pods that a constraint of a pod is about: it finds them by their
// labels in some namespaces.
type PodSelection struct {
	selector   labels.Selector
	namespaces map[string]bool // nil: all
}

// TermSelection returns the pods that a term of the template's pod affinity or anti-affinity
// finds, in a cluster with the namespaces.
func TermSelection(t *cluster.Template, term *corev1.PodAffinityTerm, all []cluster.Namespace) (PodSelection, error) {
	selector, err := selectorFor(term.LabelSelector, t.Labels, term.MatchLabelKeys, term.MismatchLabelKeys)
	if err != nil {
		return PodSelection{}, err
	}
	namespaces, err := namespacesOf(t, term, all)
	return PodSelection{selector, namespaces}, err
}

// SpreadSelection returns the pods that a topology spread constraint of the template counts.
func SpreadSelection(t *cluster.Template, c *corev1.TopologySpreadConstraint) (PodSelection, error) {
	selector, err := selectorFor(c.LabelSelector, t.Labels, c.MatchLabelKeys, nil)
	if err != nil {
		return PodSelection{}, err
	}
	if selector.Empty() {
		selector = labels.Nothing() // kube-scheduler counts no pods for it, rather than all
	}
	return PodSelection{selector, map[string]bool{t.Namespace: true}}, nil
}

// Finds reports whether the pods of a template are among those selected.
func (p PodSelection) Finds(t *cluster.Template) bool {
	return (p.namespaces == nil || p.namespaces[t.Namespace]) && p.selector.Matches(labels.Set(t.Labels))
}

// Label returns a label that every pod of the selection has, if it asks for one.
func (p PodSelection) Label() (key, value string, ok bool) {
	requirements, _ := p.selector.Requirements()
	for _, r := range requirements {
		if values := r.ValuesUnsorted(); asksForLabel(r) && len(values) == 1 {
			return r.Key(), values[0], true
		}
	}
	return "", "", false
}

// Key returns the key of a label that every pod of the selection has, whatever its value, if it
// asks for one.
func (p PodSelection) Key() (string, bool) {
	requirements, _ := p.selector.Requirements()
	for _, r := range requirements {
		if asksForLabel(r) {
			return r.Key(), true
		}
	}
	return "", false
}

// asksForLabel reports whether only pods with a label of the key meet the requirement.
func asksForLabel(r labels.Requirement) bool {
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals, selection.Exists:
		return true
	}
	return false
}

// String identifies the selection: equal strings mean equal selections.
func (p PodSelection) String() string {
	namespaces, pods := "*", p.selector.String()
	if p.namespaces != nil {
		namespaces = strings.Join(slices.Sorted(maps.Keys(p.namespaces)), ",")
	}
	if _, selectable := p.selector.Requirements(); !selectable {
		pods = "\x00" // A selector of no pods and one of all pods are both written as "".
	}
	return namespaces + "\x00" + pods
}

// SelectorKeys lists the labels that a selector looks at.
func SelectorKeys(s *metav1.LabelSelector) []string {
	if s == nil {
		return nil
	}
	out := slices.Collect(maps.Keys(s.MatchLabels))
	for _, e := range s.MatchExpressions {
		out = append(out, e.Key)
	}
	return out
}

// selectorFor resolves a selector with its matchLabelKeys for the pod's labels.
// No selector at all matches nothing.
func selectorFor(s *metav1.LabelSelector, own map[string]string, match, mismatch []string) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || s == nil {
		return selector, err
	}
	same := &metav1.LabelSelector{}
	for _, key := range match {
		if value, ok := own[key]; ok {
			same.MatchExpressions = append(same.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
	}
	for _, key := range mismatch {
		if value, ok := own[key]; ok {
			same.MatchExpressions = append(same.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}})
		}
	}
	if len(same.MatchExpressions) == 0 {
		return selector, nil
	}
	more, err := metav1.LabelSelectorAsSelector(same)
	if err != nil {
		return nil, err
	}
	requirements, _ := more.Requirements()
	return selector.Add(requirements...), nil
}

// namespacesOf returns the namespaces in which a term finds pods, or nil for all.
func namespacesOf(t *cluster.Template, term *corev1.PodAffinityTerm, all []cluster.Namespace) (map[string]bool, error) {
	if term.NamespaceSelector == nil && len(term.Namespaces) == 0 {
		return map[string]bool{t.Namespace: true}, nil
	}
	out := map[string]bool{}
	for _, name := range term.Namespaces {
		out[name] = true
	}
	if term.NamespaceSelector == nil {
		return out, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	if err != nil {
		return nil, fmt.Errorf("namespace selector: %w", err)
	}
	if selector.Empty() {
		return nil, nil
	}
	for _, n := range all {
		if selector.Matches(labels.Set(n.Labels)) {
			out[n.Name] = true
		}
	}
	return out, nil
}
