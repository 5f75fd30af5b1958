package stage

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// podDir is what a pod whose container runs as a process of this machine has for
// itself. What a kubelet does with mounts and network namespaces is done by other
// words: paths of volumes are those of this folder, ports are free ones, and the
// ServiceAccount's token is in a kubeconfig.
type podDir struct {
	stage  *Stage
	pod    *corev1.Pod
	dir    string
	server string
	ports  map[string]string // addresses by the ports' names
	paths  map[string]string // folders by mount paths
}

func (s *Stage) newPodDir(pod *corev1.Pod, server string) (*podDir, error) {
	p := &podDir{stage: s, pod: pod, dir: filepath.Join(s.dir, pod.Name), server: server, ports: map[string]string{}, paths: map[string]string{}}
	if n := len(pod.Spec.Containers); n != 1 {
		return nil, fmt.Errorf("run pod %s: it has %d containers, only one can be run", pod.Name, n)
	}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		p.paths[mount.MountPath] = p.path("volumes", mount.Name)
	}
	for _, port := range pod.Spec.Containers[0].Ports {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		p.ports[port.Name] = address
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", p.dir, err)
	}
	return p, p.writeKubeconfig()
}

func (p *podDir) path(parts ...string) string {
	return filepath.Join(append([]string{p.dir}, parts...)...)
}

// environment is the container's, and what leads its connections to the sandbox.
func (p *podDir) environment() ([]string, error) {
	sandbox := p.stage.Sandbox
	env := []string{
		"KUBECONFIG=" + p.path("kubeconfig"), "HOME=" + p.dir, "PATH=" + os.Getenv("PATH"),
		"AWS_ENDPOINT_URL=" + sandbox.AWSEndpoint, "AWS_ENDPOINT_URL_STS=" + sandbox.AWSEndpoint, "AWS_EC2_METADATA_DISABLED=true",
	}
	for _, name := range slices.Sorted(maps.Keys(p.ports)) {
		env = append(env, "PACKHORSE_"+strings.ToUpper(name)+"_ADDRESS="+p.ports[name])
	}
	fields := map[string]string{"metadata.name": p.pod.Name, "metadata.namespace": p.pod.Namespace}
	for _, v := range p.pod.Spec.Containers[0].Env {
		value := v.Value
		if v.ValueFrom != nil {
			var known bool
			if value, known = fields[v.ValueFrom.FieldRef.FieldPath]; !known {
				return nil, fmt.Errorf("run pod %s: the variable %s is taken from a field that is not known here", p.pod.Name, v.Name)
			}
		}
		for mounted, folder := range p.paths {
			if rest, under := strings.CutPrefix(value, mounted+"/"); under {
				value = filepath.Join(folder, rest)
			}
		}
		env = append(env, v.Name+"="+value)
	}
	return env, nil
}

// writeTokens writes fresh tokens of the pod's ServiceAccount: for the API
// server, and for the audiences of its volumes.
func (p *podDir) writeTokens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := p.writeToken(ctx, p.path("kube.token"), "", 3600); err != nil {
		return err
	}
	for _, volume := range p.pod.Spec.Volumes {
		if volume.Projected == nil || !slices.Contains(slices.Collect(maps.Values(p.paths)), p.path("volumes", volume.Name)) {
			continue
		}
		for _, source := range volume.Projected.Sources {
			token := source.ServiceAccountToken
			if token == nil {
				continue
			}
			if err := p.writeToken(ctx, p.path("volumes", volume.Name, token.Path), token.Audience, *token.ExpirationSeconds); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeToken writes a token for an audience, or for the API server. It is good for
// as long as the pod exists, if that is an object of the API server.
func (p *podDir) writeToken(ctx context.Context, path, audience string, seconds int64) error {
	req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if audience != "" {
		req.Spec.Audiences = []string{audience}
	}
	if p.pod.UID != "" {
		req.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.pod.Name, UID: p.pod.UID}
	}
	account := p.pod.Spec.ServiceAccountName
	got, err := p.stage.Kube.CoreV1().ServiceAccounts(p.pod.Namespace).CreateToken(ctx, account, req, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("request a token of ServiceAccount %s/%s: %w", p.pod.Namespace, account, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the folder of a token: %w", err)
	}
	if err := os.WriteFile(path+".new", []byte(got.Status.Token), 0o600); err != nil {
		return fmt.Errorf("write a token: %w", err)
	}
	return os.Rename(path+".new", path)
}

func (p *podDir) writeKubeconfig() error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["sandbox"] = &clientcmdapi.Cluster{Server: p.server, CertificateAuthorityData: p.stage.Sandbox.CA}
	cfg.AuthInfos["agent"] = &clientcmdapi.AuthInfo{TokenFile: p.path("kube.token")}
	cfg.Contexts["sandbox"] = &clientcmdapi.Context{Cluster: "sandbox", AuthInfo: "agent"}
	cfg.CurrentContext = "sandbox"
	if err := clientcmd.WriteToFile(*cfg, p.path("kubeconfig")); err != nil {
		return fmt.Errorf("write the agent's kubeconfig: %w", err)
	}
	return nil
}

// imageName is the last part of an image's name, which is that of the binary in it.
func imageName(reference string) string {
	name, _, _ := strings.Cut(reference[strings.LastIndex(reference, "/")+1:], "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// freeAddress returns a loopback address with a port that is free now. Systems take the ports
// of outgoing connections from a higher range: one of these could take the port before the
// container listens on it.
func freeAddress() (string, error) {
	const first, ports, attempts = 20000, 12000, 100
	var last error
	for range attempts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(ports)))
		if err != nil {
			last = err
			continue
		}
		return l.Addr().String(), l.Close()
	}
	return "", fmt.Errorf("find a free port between %d and %d: %w", first, first+ports, last)
}
