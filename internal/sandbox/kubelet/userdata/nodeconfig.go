package userdata

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// nodeConfig is the part of nodeadm's NodeConfig that matters here.
type nodeConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster struct {
			Name                 string `json:"name"`
			APIServerEndpoint    string `json:"apiServerEndpoint"`
			CertificateAuthority string `json:"certificateAuthority"`
			CIDR                 string `json:"cidr"`
		} `json:"cluster"`
		Kubelet struct {
			Config map[string]any `json:"config"`
			Flags  []string       `json:"flags"`
		} `json:"kubelet"`
		Instance struct {
			LocalStorage struct {
				Strategy string `json:"strategy"`
			} `json:"localStorage"`
		} `json:"instance"`
	} `json:"spec"`
}

// kubeletConfiguration is the part of the kubelet's own configuration file that
// matters here.
type kubeletConfiguration struct {
	MaxPods            *int32            `json:"maxPods"`
	PodsPerCore        int32             `json:"podsPerCore"`
	KubeReserved       map[string]string `json:"kubeReserved"`
	SystemReserved     map[string]string `json:"systemReserved"`
	EvictionHard       map[string]string `json:"evictionHard"`
	RegisterWithTaints []corev1.Taint    `json:"registerWithTaints"`
	ClusterDNS         []string          `json:"clusterDNS"`
}

// parseNodeConfig merges the NodeConfig documents of the user data as nodeadm does:
// what a later part sets wins, the kubelet's configuration is merged key by key,
// and its flags add up.
func parseNodeConfig(data []byte) (Settings, error) {
	parts, err := splitParts(data)
	if err != nil {
		return Settings{}, err
	}
	var merged nodeConfig
	found := false
	for i, p := range parts {
		if p.mediaType != mediaNodeConfig {
			continue
		}
		var config nodeConfig
		if err := yaml.Unmarshal(p.content, &config); err != nil {
			return Settings{}, fmt.Errorf("NodeConfig in part %d: %w", i+1, err)
		}
		if config.APIVersion != "node.eks.aws/v1alpha1" || config.Kind != "NodeConfig" {
			return Settings{}, fmt.Errorf("part %d: no kind %q is registered in version %q", i+1, config.Kind, config.APIVersion)
		}
		merged.merge(config)
		found = true
	}
	if !found {
		return Settings{}, errors.New("there is no NodeConfig")
	}
	return merged.settings()
}

func (c *nodeConfig) merge(later nodeConfig) {
	cluster, from := &c.Spec.Cluster, later.Spec.Cluster
	for _, field := range []struct {
		to   *string
		from string
	}{
		{&cluster.Name, from.Name},
		{&cluster.APIServerEndpoint, from.APIServerEndpoint},
		{&cluster.CertificateAuthority, from.CertificateAuthority},
		{&cluster.CIDR, from.CIDR},
		{&c.Spec.Instance.LocalStorage.Strategy, later.Spec.Instance.LocalStorage.Strategy},
	} {
		if field.from != "" {
			*field.to = field.from
		}
	}
	c.Spec.Kubelet.Config = mergeMaps(c.Spec.Kubelet.Config, later.Spec.Kubelet.Config)
	c.Spec.Kubelet.Flags = append(c.Spec.Kubelet.Flags, later.Spec.Kubelet.Flags...)
}

// mergeMaps merges maps of YAML deeply; anything but a map is replaced.
func mergeMaps(base, over map[string]any) map[string]any {
	merged := maps.Collect(maps.All(base)) // never nil
	for key, value := range over {
		below, isMap := merged[key].(map[string]any)
		overlay, overlays := value.(map[string]any)
		if isMap && overlays {
			value = mergeMaps(below, overlay)
		}
		merged[key] = value
	}
	return merged
}

func (c *nodeConfig) settings() (Settings, error) {
	cluster := c.Spec.Cluster
	switch "" {
	case cluster.Name:
		return Settings{}, errors.New("name is missing in the cluster configuration")
	case cluster.APIServerEndpoint:
		return Settings{}, errors.New("apiServerEndpoint is missing in the cluster configuration")
	case cluster.CertificateAuthority:
		return Settings{}, errors.New("certificateAuthority is missing in the cluster configuration")
	case cluster.CIDR:
		return Settings{}, errors.New("cidr is missing in the cluster configuration")
	}
	ca, err := decodeCA(cluster.CertificateAuthority)
	if err != nil {
		return Settings{}, err
	}
	services, err := netip.ParsePrefix(cluster.CIDR)
	if err != nil {
		return Settings{}, fmt.Errorf("cidr in the cluster configuration: %w", err)
	}
	settings := Settings{
		ClusterName: cluster.Name, Endpoint: cluster.APIServerEndpoint, CA: ca, ServiceCIDR: cluster.CIDR, IPv6: services.Addr().Is6(),
		LocalDisks: strings.ToLower(c.Spec.Instance.LocalStorage.Strategy),
	}
	if err := settings.Kubelet.applyConfiguration(c.Spec.Kubelet.Config); err != nil {
		return Settings{}, fmt.Errorf("kubelet configuration: %w", err)
	}
	// Flags win over the configuration file.
	for _, flag := range c.Spec.Kubelet.Flags {
		if err := settings.Kubelet.applyArguments(flag); err != nil {
			return Settings{}, err
		}
	}
	return settings, nil
}

// applyConfiguration sets what a kubelet configuration file says.
func (k *Kubelet) applyConfiguration(config map[string]any) error {
	document, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	var parsed kubeletConfiguration
	if err := yaml.Unmarshal(document, &parsed); err != nil {
		return err
	}
	k.MaxPods, k.PodsPerCore, k.ClusterDNS = parsed.MaxPods, parsed.PodsPerCore, parsed.ClusterDNS
	for _, taint := range parsed.RegisterWithTaints {
		if err := checkTaint(taint); err != nil {
			return err
		}
		k.Taints = append(k.Taints, taint)
	}
	return k.applyReservations(parsed.KubeReserved, parsed.SystemReserved, parsed.EvictionHard)
}

// applyReservations sets reserved resources and eviction thresholds where given.
func (k *Kubelet) applyReservations(kube, system, eviction map[string]string) error {
	var err error
	if kube != nil {
		if k.KubeReserved, err = parseResources(kube); err != nil {
			return fmt.Errorf("kube-reserved: %w", err)
		}
	}
	if system != nil {
		if k.SystemReserved, err = parseResources(system); err != nil {
			return fmt.Errorf("system-reserved: %w", err)
		}
	}
	if eviction != nil {
		if k.EvictionHard, err = checkThresholds(eviction); err != nil {
			return fmt.Errorf("eviction-hard: %w", err)
		}
	}
	return nil
}
