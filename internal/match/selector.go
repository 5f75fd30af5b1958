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
	namespaces map[string]bool // by name; nil: all
	selects    labels.Selector // further namespaces, by their labels; nil: none
	of         Namespaces      // among these
}

// Namespaces are the labels of a cluster's namespaces, by name. Selections share them: a pod may have many terms that
// each select all namespaces but a few, and lists of these would take far more memory than the terms.
type Namespaces map[string]labels.Set

// NewNamespaces returns the namespaces of a cluster.
func NewNamespaces(all []cluster.Namespace) Namespaces {
	out := Namespaces{}
	for i := range all {
		out[all[i].Name] = all[i].Labels
	}
	return out
}

// Term returns the pods that a term of the template's pod affinity or anti-affinity finds.
func (n Namespaces) Term(t *cluster.Template, term *corev1.PodAffinityTerm) (PodSelection, error) {
	selector, err := selectorFor(term.LabelSelector, t.Labels, term.MatchLabelKeys, term.MismatchLabelKeys)
	if err != nil {
		return PodSelection{}, err
	}
	out := PodSelection{selector: selector, of: n}
	if term.NamespaceSelector == nil && len(term.Namespaces) == 0 {
		out.namespaces = map[string]bool{t.Namespace: true}
		return out, nil
	}
	if term.NamespaceSelector != nil {
		if out.selects, err = metav1.LabelSelectorAsSelector(term.NamespaceSelector); err != nil {
			return out, fmt.Errorf("namespace selector: %w", err)
		}
		if out.selects.Empty() {
			out.selects = nil
			return out, nil
		}
	}
	out.namespaces = map[string]bool{}
	for _, name := range term.Namespaces {
		out.namespaces[name] = true
	}
	return out, nil
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
	return PodSelection{selector: selector, namespaces: map[string]bool{t.Namespace: true}}, nil
}

// Finds reports whether the pods of a template are among those selected.
func (p PodSelection) Finds(t *cluster.Template) bool {
	return p.within(t.Namespace) && p.selector.Matches(labels.Set(t.Labels))
}

func (p PodSelection) within(namespace string) bool {
	if p.namespaces == nil || p.namespaces[namespace] {
		return true
	}
	of, known := p.of[namespace]
	return known && p.selects != nil && p.selects.Matches(of)
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
	if p.selects != nil {
		namespaces += "|" + p.selects.String()
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
