package plane

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// state names the files of one control plane below its folder.
type state string

func (s state) path(name string) string     { return filepath.Join(string(s), name) }
func (s state) kubeconfig(of string) string { return s.path(of + ".kubeconfig") }
func (s state) log(component string) string {
	return filepath.Join(string(s), "logs", component+".log")
}

// Clients of the API server that get a kubeconfig of their own.
const (
	clientAdmin             = "admin"
	clientScheduler         = "kube-scheduler"
	clientControllerManager = "kube-controller-manager"
	clientKwok              = "kwok"
)

const groupMasters = "system:masters"

// prepare empties the folder of an earlier run's data and writes everything that
// the components read: certificates, keys, kubeconfigs.
func (s state) prepare(server, webhookURL string) (ca []byte, err error) {
	// Objects of an earlier run were made under keys that no longer exist.
	if err := os.RemoveAll(s.path("etcd")); err != nil {
		return nil, fmt.Errorf("remove data of an earlier run: %w", err)
	}
	if err := os.MkdirAll(s.path("logs"), 0o700); err != nil {
		return nil, fmt.Errorf("make state folder: %w", err)
	}
	authority, err := newAuthority("packhorse-sandbox")
	if err != nil {
		return nil, err
	}
	if err := s.writeIdentities(authority); err != nil {
		return nil, err
	}
	if err := s.writeKubeconfigs(authority, server); err != nil {
		return nil, err
	}
	if err := writeServiceAccountKeys(s.path("service-account.key"), s.path("service-account.pub")); err != nil {
		return nil, err
	}
	webhook := &clientcmdapi.Cluster{Server: webhookURL}
	return authority.certificatePEM(), writeKubeconfig(s.kubeconfig("token-webhook"), webhook, &clientcmdapi.AuthInfo{})
}

func (s state) writeIdentities(authority *identity) error {
	server, err := authority.issueServer("kube-apiserver")
	if err != nil {
		return err
	}
	proxy, err := authority.issueClient("front-proxy")
	if err != nil {
		return err
	}
	for name, pair := range map[string]*identity{"ca": authority, "kube-apiserver": server, "front-proxy": proxy} {
		if err := pair.write(string(s), name); err != nil {
			return err
		}
	}
	return nil
}

func (s state) writeKubeconfigs(authority *identity, server string) error {
	clients := []struct {
		name, user string
		groups     []string
	}{
		{clientAdmin, "packhorse-sandbox-admin", []string{groupMasters}},
		{clientScheduler, "system:kube-scheduler", nil},
		{clientControllerManager, "system:kube-controller-manager", nil},
		{clientKwok, "kwok", []string{groupMasters}},
	}
	cluster := &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority.certificatePEM()}
	for _, client := range clients {
		pair, err := authority.issueClient(client.user, client.groups...)
		if err != nil {
			return err
		}
		key, err := pair.keyPEM()
		if err != nil {
			return err
		}
		user := &clientcmdapi.AuthInfo{ClientCertificateData: pair.certificatePEM(), ClientKeyData: key}
		if err := writeKubeconfig(s.kubeconfig(client.name), cluster, user); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig writes a kubeconfig of one context (clientcmd makes it 0600).
func writeKubeconfig(path string, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) error {
	const name = "packhorse-sandbox"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = cluster
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}
