package userdata

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	toml "github.com/pelletier/go-toml/v2"
)

// bottlerocketSettings is the part of Bottlerocket's settings that matters here.
type bottlerocketSettings struct {
	Settings struct {
		Kubernetes struct {
			APIServer          string            `toml:"api-server"`
			ClusterCertificate string            `toml:"cluster-certificate"`
			ClusterName        string            `toml:"cluster-name"`
			ClusterDNSIP       any               `toml:"cluster-dns-ip"` // an address or a list
			MaxPods            *int32            `toml:"max-pods"`
			PodsPerCore        int32             `toml:"pods-per-core"`
			NodeLabels         map[string]string `toml:"node-labels"`
			NodeTaints         map[string]any    `toml:"node-taints"` // "value:Effect" or a list of them
			KubeReserved       map[string]string `toml:"kube-reserved"`
			SystemReserved     map[string]string `toml:"system-reserved"`
			EvictionHard       map[string]string `toml:"eviction-hard"`
		} `toml:"kubernetes"`
		AutoScaling struct {
			ShouldWait bool `toml:"should-wait"`
		} `toml:"autoscaling"`
		BootstrapCommands map[string]struct {
			Commands [][]string `toml:"commands"`
		} `toml:"bootstrap-commands"`
	} `toml:"settings"`
}

// parseBottlerocket reads Bottlerocket's settings in TOML.
func parseBottlerocket(data []byte) (Settings, error) {
	var document bottlerocketSettings
	if err := toml.Unmarshal(data, &document); err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	kubernetes := document.Settings.Kubernetes
	switch "" {
	case kubernetes.ClusterName:
		return Settings{}, errors.New("settings.kubernetes.cluster-name is missing")
	case kubernetes.APIServer:
		return Settings{}, errors.New("settings.kubernetes.api-server is missing")
	case kubernetes.ClusterCertificate:
		return Settings{}, errors.New("settings.kubernetes.cluster-certificate is missing")
	}
	if document.Settings.AutoScaling.ShouldWait {
		return Settings{}, errors.New("settings.autoscaling.should-wait: the machine waits for ever, because it is in no Auto Scaling group")
	}
	ca, err := decodeCA(kubernetes.ClusterCertificate)
	if err != nil {
		return Settings{}, err
	}
	settings := Settings{ClusterName: kubernetes.ClusterName, Endpoint: kubernetes.APIServer, CA: ca}
	for _, command := range document.Settings.BootstrapCommands {
		if slices.ContainsFunc(command.Commands, joinsLocalDisks) {
			settings.LocalDisks = "raid0"
		}
	}
	settings.Kubelet.MaxPods = kubernetes.MaxPods
	settings.Kubelet.PodsPerCore = kubernetes.PodsPerCore
	if settings.Kubelet.ClusterDNS, err = oneOrMany(kubernetes.ClusterDNSIP); err != nil {
		return Settings{}, fmt.Errorf("settings.kubernetes.cluster-dns-ip: %w", err)
	}
	if err := settings.Kubelet.mergeLabels(kubernetes.NodeLabels); err != nil {
		return Settings{}, fmt.Errorf("settings.kubernetes.node-labels: %w", err)
	}
	if err := settings.Kubelet.addBottlerocketTaints(kubernetes.NodeTaints); err != nil {
		return Settings{}, fmt.Errorf("settings.kubernetes.node-taints: %w", err)
	}
	return settings, settings.Kubelet.applyReservations(kubernetes.KubeReserved, kubernetes.SystemReserved, kubernetes.EvictionHard)
}

// joinsLocalDisks recognises the command that makes one of the local disks.
func joinsLocalDisks(words []string) bool {
	return slices.Equal(words, []string{"apiclient", "ephemeral-storage", "init"})
}

// addBottlerocketTaints adds taints of the form key = "value:Effect", in the order
// of their keys.
func (k *Kubelet) addBottlerocketTaints(taints map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(taints)) {
		values, err := oneOrMany(taints[key])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		for _, value := range values {
			parsed, err := parseTaints(key + "=" + value)
			if err != nil {
				return err
			}
			k.Taints = append(k.Taints, parsed...)
		}
	}
	return nil
}

// oneOrMany reads a string or a list of strings.
func oneOrMany(value any) ([]string, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{value}, nil
	case []any:
		var texts []string
		for _, element := range value {
			text, ok := element.(string)
			if !ok {
				return nil, fmt.Errorf("%v is not a string", element)
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
	return nil, fmt.Errorf("%v is neither a string nor a list of strings", value)
}
