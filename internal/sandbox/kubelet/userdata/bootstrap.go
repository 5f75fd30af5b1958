package userdata

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// bootstrapScript is where the images of Amazon Linux 2 and Ubuntu have it.
const bootstrapScript = "/etc/eks/bootstrap.sh"

// parseBootstrapScript finds how the shell scripts of the user data call the
// image's bootstrap script, and reads its arguments.
func parseBootstrapScript(data []byte) (Settings, error) {
	parts, err := splitParts(data)
	if err != nil {
		return Settings{}, err
	}
	for _, p := range parts {
		if p.mediaType != mediaShell || !bytes.Contains(p.content, []byte(bootstrapScript)) {
			continue // scripts of users have more of the language than is read here
		}
		commands, err := shellCommands(string(p.content))
		if err != nil {
			return Settings{}, err
		}
		for _, words := range commands {
			// It may be called through sudo, env or bash.
			for i, word := range words {
				if word == bootstrapScript {
					return bootstrapArguments(words[i+1:])
				}
			}
		}
	}
	return Settings{}, errors.New(bootstrapScript + " is not called")
}

// bootstrapArguments reads the arguments of the bootstrap script: options that all
// take a value, and the cluster's name as the first word that is none.
func bootstrapArguments(words []string) (Settings, error) {
	var settings Settings
	var names []string
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if !isBootstrapOption(word) {
			// As in the script, an option that it does not know is taken for a name.
			names = append(names, word)
			continue
		}
		if len(words) == 0 {
			return Settings{}, fmt.Errorf("option %s has no value", word)
		}
		value := words[0]
		words = words[1:]
		if err := settings.applyBootstrapOption(word, value); err != nil {
			return Settings{}, err
		}
	}
	if len(names) == 0 || names[0] == "" {
		return Settings{}, errors.New("cluster name is not defined")
	}
	settings.ClusterName = names[0]
	if settings.IPv6 && settings.ServiceCIDR == "" {
		return Settings{}, errors.New("one of --service-ipv6-cidr or the cluster's description is needed for the family ipv6")
	}
	if settings.Endpoint == "" || len(settings.CA) == 0 {
		// The script uses them only together.
		settings.Endpoint, settings.CA = "", nil
	}
	return settings, nil
}

func isBootstrapOption(word string) bool {
	switch word {
	case "--use-max-pods", "--b64-cluster-ca", "--apiserver-endpoint", "--kubelet-extra-args", "--dns-cluster-ip",
		"--enable-docker-bridge", "--aws-api-retry-attempts", "--docker-config-json", "--containerd-config-file",
		"--pause-container-account", "--pause-container-version", "--ip-family", "--service-ipv6-cidr",
		"--enable-local-outpost", "--cluster-id", "--container-runtime", "--mount-bpf-fs", "--local-disks":
		return true
	}
	return false
}

func (s *Settings) applyBootstrapOption(option, value string) error {
	var err error
	switch option {
	case "--apiserver-endpoint":
		s.Endpoint = value
	case "--b64-cluster-ca":
		s.CA, err = decodeCA(value)
	case "--use-max-pods":
		var use bool
		use, err = strconv.ParseBool(value)
		s.Kubelet.IgnorePodTable = !use
	case "--dns-cluster-ip":
		s.Kubelet.ClusterDNS = strings.Split(value, ",")
	case "--ip-family":
		if value != "ipv4" && value != "ipv6" {
			err = fmt.Errorf("%q is neither ipv4 nor ipv6", value)
		}
		s.IPv6 = value == "ipv6"
	case "--service-ipv6-cidr":
		s.ServiceCIDR = value
	case "--local-disks":
		s.LocalDisks = value
	case "--kubelet-extra-args":
		err = s.Kubelet.applyArguments(value)
	case "--container-runtime":
		if value != "containerd" {
			err = errors.New("the image runs only containerd")
		}
	}
	if err != nil {
		return fmt.Errorf("option %s: %w", option, err)
	}
	return nil
}
