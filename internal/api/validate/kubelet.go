package validate

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// evictionSignals are the signals on which the kubelet evicts.
var evictionSignals = []string{
	"imagefs.available", "imagefs.inodesFree", "memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available",
}

// reservedResources can be set aside by systemReserved and kubeReserved.
var reservedResources = []string{"cpu", "ephemeral-storage", "memory", "pid"}

// containerRuntimes holds dockerd for old manifests; nodes get containerd.
var containerRuntimes = []string{"containerd", "dockerd"}

func validateKubelet(k *api.KubeletConfiguration, path *field.Path) finding.List {
	if k == nil {
		return nil
	}
	var errs finding.List
	for i, ip := range k.ClusterDNS {
		if at := path.Child("clusterDNS").Index(i); len(validation.IsValidIP(at, ip)) > 0 {
			errs = append(errs, finding.Invalid(at, ip, finding.Say("must be an IP address"), finding.Say("write it in full, such as 10.100.0.10 or fd00::10")))
		}
	}
	errs = append(errs, choice(k.ContainerRuntime, containerRuntimes, path.Child("containerRuntime"))...)
	errs = append(errs, validateReserved(k.SystemReserved, path.Child("systemReserved"))...)
	errs = append(errs, validateReserved(k.KubeReserved, path.Child("kubeReserved"))...)
	errs = append(errs, validateEviction(k, path)...)
	errs = append(errs, validateImageGC(k, path)...)
	errs = append(errs, notNegative(k.EvictionMaxPodGracePeriod, path.Child("evictionMaxPodGracePeriod"))...)
	errs = append(errs, notNegative(k.PodsPerCore, path.Child("podsPerCore"))...)
	errs = append(errs, notNegative(k.MaxPods, path.Child("maxPods"))...)
	return errs
}

func validateReserved(reserved corev1.ResourceList, path *field.Path) finding.List {
	var errs finding.List
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		if !slices.Contains(reservedResources, string(name)) {
			errs = append(errs, unsupported(path.Key(string(name)), string(name), reservedResources))
		}
	}
	return append(errs, validateQuantities(reserved, path)...)
}

func validateEviction(k *api.KubeletConfiguration, path *field.Path) finding.List {
	hard, soft, grace := path.Child("evictionHard"), path.Child("evictionSoft"), path.Child("evictionSoftGracePeriod")
	errs := validateThresholds(k.EvictionHard, hard)
	errs = append(errs, validateThresholds(k.EvictionSoft, soft)...)
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, ok := k.EvictionSoftGracePeriod[signal]; !ok {
			errs = append(errs, finding.Required(grace.Key(signal), finding.Say("%s needs a grace period", finding.At(soft.Key(signal))), finding.Say("set one, such as 1m30s, or remove the threshold")))
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		period := k.EvictionSoftGracePeriod[signal]
		if !slices.Contains(evictionSignals, signal) {
			errs = append(errs, unsupported(grace.Key(signal), signal, evictionSignals))
		} else if _, ok := k.EvictionSoft[signal]; !ok {
			errs = append(errs, finding.Required(soft.Key(signal), finding.Say("%s needs a threshold", finding.At(grace.Key(signal))), finding.Say("set one, such as 10%%, or remove the grace period")))
		}
		if period.Duration < 0 {
			errs = append(errs, negative(grace.Key(signal), period.Duration.String()))
		}
	}
	return errs
}

func validateThresholds(thresholds map[string]string, path *field.Path) finding.List {
	var errs finding.List
	for _, signal := range slices.Sorted(maps.Keys(thresholds)) {
		if !slices.Contains(evictionSignals, signal) {
			errs = append(errs, unsupported(path.Key(signal), signal, evictionSignals))
			continue
		}
		errs = append(errs, validateThreshold(thresholds[signal], path.Key(signal))...)
	}
	return errs
}

func validateThreshold(threshold string, path *field.Path) finding.List {
	wrong := func(text, advice finding.Message) finding.List {
		return finding.List{finding.Invalid(path, threshold, text, advice)}
	}
	if percent, isPercent := strings.CutSuffix(threshold, "%"); isPercent {
		p, err := strconv.ParseFloat(percent, 64)
		bounds := finding.Say("must be from 0%% to 100%%")
		switch {
		case err != nil, math.IsNaN(p):
			return wrong(finding.Say("must be a percentage"), finding.Say("write a number before the sign, such as 5%%"))
		case p < 0:
			return wrong(bounds, finding.Say("the nearest valid value is 0%%"))
		case p > 100:
			return wrong(bounds, finding.Say("the nearest valid value is 100%%"))
		}
		return nil
	}
	q, err := amount.Parse(threshold)
	switch {
	case err != nil:
		return wrong(finding.Say("must be a quantity or a percentage"), finding.Say("write it such as 500Mi or 5%%"))
	case q.Sign() < 0:
		return finding.List{negative(path, threshold)}
	}
	return nil
}

// adviseHigh names the lowest high threshold above a low one.
func adviseHigh(low int32) finding.Message {
	if low >= 100 {
		return finding.Say("lower that")
	}
	return finding.Say("the nearest valid value is %d", low+1)
}

func validateImageGC(k *api.KubeletConfiguration, path *field.Path) finding.List {
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	at := path.Child("imageGCHighThresholdPercent")
	errs := within(high, 0, 100, at)
	errs = append(errs, within(low, 0, 100, path.Child("imageGCLowThresholdPercent"))...)
	if high != nil && low != nil && *high <= *low {
		errs = append(errs, finding.Invalid(at, *high, finding.Say("must be above %s, which is %d", finding.In(path, "imageGCLowThresholdPercent"), *low), adviseHigh(*low)))
	}
	return errs
}
