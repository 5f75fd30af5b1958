package userdata

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// applyArguments sets what a command line of kubelet flags says. The line is split
// as systemd splits a variable on a service's command line: at blanks, respecting
// quotes.
func (k *Kubelet) applyArguments(line string) error {
	commands, err := shellCommands(line)
	if err != nil {
		return fmt.Errorf("kubelet arguments: %w", err)
	}
	var words []string
	for _, command := range commands {
		words = append(words, command...)
	}
	for len(words) > 0 {
		name, value, joined := strings.Cut(words[0], "=")
		words = words[1:]
		if !strings.HasPrefix(name, "--") {
			return fmt.Errorf("kubelet arguments: unexpected word %q", name)
		}
		if !joined && len(words) > 0 && !strings.HasPrefix(words[0], "--") {
			value, words = words[0], words[1:]
		}
		if err := k.applyFlag(strings.TrimPrefix(name, "--"), value); err != nil {
			return fmt.Errorf("kubelet flag %s=%s: %w", name, value, err)
		}
	}
	return nil
}

// applyFlag sets one flag. Flags that do not matter to a simulated kubelet are
// accepted unseen.
func (k *Kubelet) applyFlag(name, value string) error {
	var err error
	switch name {
	case "node-labels":
		// Given again, the flag adds to the labels.
		err = k.addLabels(value)
	case "register-with-taints":
		// Given again, the flag replaces the taints.
		k.Taints, err = parseTaints(value)
	case "max-pods":
		k.MaxPods, err = parseMaxPods(value)
	case "pods-per-core":
		var parsed int64
		parsed, err = strconv.ParseInt(value, 10, 32)
		k.PodsPerCore = int32(parsed)
	case "kube-reserved":
		k.KubeReserved, err = parseResources(pairs(value, "="))
	case "system-reserved":
		k.SystemReserved, err = parseResources(pairs(value, "="))
	case "eviction-hard":
		k.EvictionHard, err = checkThresholds(pairs(value, "<"))
	case "cluster-dns":
		k.ClusterDNS = strings.Split(value, ",")
	}
	return err
}

// addLabels adds labels of the form key=value,key=value.
func (k *Kubelet) addLabels(list string) error {
	return k.mergeLabels(pairs(list, "="))
}

func (k *Kubelet) mergeLabels(labels map[string]string) error {
	for key, value := range labels {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("label key %q: %s", key, problems[0])
		}
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return fmt.Errorf("value %q of label %s: %s", value, key, problems[0])
		}
		if k.Labels == nil {
			k.Labels = map[string]string{}
		}
		k.Labels[key] = value
	}
	return nil
}

// pairs splits key=value,key=value; the separator within a pair differs by flag.
func pairs(list, separator string) map[string]string {
	split := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair != "" {
			key, value, _ := strings.Cut(pair, separator)
			split[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return split
}

// parseTaints reads key=value:Effect,key:Effect.
func parseTaints(list string) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		rest, effect, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("taint %q has no effect", text)
		}
		key, value, _ := strings.Cut(rest, "=")
		taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		if err := checkTaint(taint); err != nil {
			return nil, err
		}
		taints = append(taints, taint)
	}
	return taints, nil
}

func checkTaint(taint corev1.Taint) error {
	if problems := validation.IsQualifiedName(taint.Key); len(problems) > 0 {
		return fmt.Errorf("taint key %q: %s", taint.Key, problems[0])
	}
	if problems := validation.IsValidLabelValue(taint.Value); len(problems) > 0 {
		return fmt.Errorf("value %q of taint %s: %s", taint.Value, taint.Key, problems[0])
	}
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return nil
	}
	return fmt.Errorf("effect %q of taint %s is none of NoSchedule, PreferNoSchedule, NoExecute", taint.Effect, taint.Key)
}

func parseMaxPods(value string) (*int32, error) {
	parsed, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return nil, err
	}
	if parsed < 0 {
		return nil, fmt.Errorf("%d is negative", parsed)
	}
	pods := int32(parsed)
	return &pods, nil
}

// parseResources reads reserved resources. The kubelet accepts only those that it
// can reserve.
func parseResources(amounts map[string]string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, amount := range amounts {
		switch name {
		case "cpu", "memory", "ephemeral-storage", "pid":
		default:
			return nil, fmt.Errorf("cannot reserve resource %q", name)
		}
		quantity, err := resource.ParseQuantity(amount)
		if err != nil {
			return nil, fmt.Errorf("amount %q of %s: %w", amount, name, err)
		}
		if quantity.Sign() < 0 {
			return nil, fmt.Errorf("amount %q of %s is negative", amount, name)
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}

// checkThresholds checks eviction thresholds: percentages or quantities.
func checkThresholds(thresholds map[string]string) (map[string]string, error) {
	for signal, value := range thresholds {
		if percent, ok := strings.CutSuffix(value, "%"); ok {
			share, err := strconv.ParseFloat(percent, 64)
			if err != nil || share < 0 || share > 100 {
				return nil, fmt.Errorf("threshold %q of %s is not a percentage", value, signal)
			}
			continue
		}
		if _, err := resource.ParseQuantity(value); err != nil {
			return nil, fmt.Errorf("threshold %q of %s: %w", value, signal, err)
		}
	}
	return thresholds, nil
}
